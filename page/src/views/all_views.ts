// The views of the page, in the order of the navigation. The first is part of the page, the others are loaded in two
// groups when one of a group is first shown: many small files would be a sixth bigger than a few, compressed.
import type { ComponentType } from "preact";
import type { IconName } from "../parts/icon";
import { loadStyle } from "./load_style";
import NeedsYouView from "./needs_you/view";

export interface ViewEntry {
  /** Its part of the address. */
  name: string;
  title: string;
  icon: IconName;
  /** Keys that go to it, `g` and this one; none for views that are reached from others. */
  key: string;
  load: () => Promise<ComponentType>;
}

type WorkViews = typeof import("./work_views");
type SystemViews = typeof import("./system_views");

const work = (name: keyof WorkViews) => () =>
  Promise.all([import("./work_views"), loadStyle(STYLES.work)]).then(([views]) => views[name]);
const system = (name: keyof SystemViews) => () =>
  Promise.all([import("./system_views"), loadStyle(STYLES.system)]).then(([views]) => views[name]);

export const NAVIGATION: readonly ViewEntry[] = [
  { name: "needs_you", title: "Needs you", icon: "needs", key: "n", load: () => Promise.resolve(NeedsYouView) },
  { name: "board", title: "Board", icon: "board", key: "b", load: work("BoardView") },
  { name: "runs", title: "Runs", icon: "runs", key: "r", load: work("RunsView") },
  { name: "review", title: "Review", icon: "review", key: "v", load: work("ReviewView") },
  { name: "graph", title: "Graph", icon: "graph", key: "d", load: system("GraphView") },
  { name: "agents", title: "Agents", icon: "agents", key: "a", load: system("AgentsView") },
  { name: "tools", title: "Tools", icon: "tools", key: "t", load: system("ToolsView") },
  { name: "upstreams", title: "Upstreams", icon: "upstreams", key: "u", load: system("UpstreamsView") },
  { name: "log", title: "Log", icon: "log", key: "l", load: system("LogView") },
  { name: "charts", title: "Charts", icon: "charts", key: "c", load: system("ChartsView") },
];

export const TASK_VIEW: ViewEntry = { name: "task", title: "Task", icon: "board", key: "", load: work("TaskView") };

export function findView(name: string): ViewEntry | undefined {
  return [...NAVIGATION, TASK_VIEW].find((view) => view.name === name);
}
