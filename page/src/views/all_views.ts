// The views of the page, in the order of the navigation. Each is loaded when it is first shown.
import type { ComponentType } from "preact";
import type { IconName } from "../parts/icon";

export interface ViewEntry {
  /** Its part of the address. */
  name: string;
  title: string;
  icon: IconName;
  /** Keys that go to it, `g` and this one; none for views that are reached from others. */
  key: string;
  load: () => Promise<{ default: ComponentType }>;
}

export const NAVIGATION: readonly ViewEntry[] = [
  { name: "needs_you", title: "Needs you", icon: "needs", key: "n", load: () => import("./needs_you/view") },
  { name: "board", title: "Board", icon: "board", key: "b", load: () => import("./board/view") },
  { name: "runs", title: "Runs", icon: "runs", key: "r", load: () => import("./runs/view") },
  { name: "review", title: "Review", icon: "review", key: "v", load: () => import("./review/view") },
  { name: "graph", title: "Graph", icon: "graph", key: "d", load: () => import("./graph/view") },
  { name: "agents", title: "Agents", icon: "agents", key: "a", load: () => import("./agents/view") },
  { name: "tools", title: "Tools", icon: "tools", key: "t", load: () => import("./tools/view") },
  { name: "upstreams", title: "Upstreams", icon: "upstreams", key: "u", load: () => import("./upstreams/view") },
  { name: "log", title: "Log", icon: "log", key: "l", load: () => import("./log/view") },
  { name: "charts", title: "Charts", icon: "charts", key: "c", load: () => import("./charts/view") },
];

export const TASK_VIEW: ViewEntry = { name: "task", title: "Task", icon: "board", key: "", load: () => import("./task/view") };

export function findView(name: string): ViewEntry | undefined {
  return [...NAVIGATION, TASK_VIEW].find((view) => view.name === name);
}
