// Checks that run because somebody called a task done. They go on while the person looks at something else.
import { api, isAborted } from "../api/client";
import type { ProvenTask } from "../api/types";
import { asApiError } from "./faults";
import { showToast } from "./messages";
import { Store } from "./store";
import { watchTopic } from "./stream";

export interface RunningChecks {
  id: string;
  title: string;
  project: string;
  /** What has to pass. */
  checks: readonly string[];
  /** What they say now. */
  text: string;
  isRunning: boolean;
  /** Why the task is not done; empty while they run, and if it is. */
  missing: string;
  stop: () => void;
}

const MAX_CHECK_MS = 4 * 3600_000;

/** By task. */
export const checks$ = new Store<Readonly<Record<string, RunningChecks>>>({});

export async function runChecks(project: string, id: string, title: string, checks: readonly string[]): Promise<void> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  change(id, { id, title, project, checks, text: "", isRunning: true, missing: "", stop });
  const unwatch = watchTopic(project, "task_checks", id, (message) => {
    if (!message.is_over) change(id, { text: message.text });
  });
  try {
    const proven = await api.act(project, "prove_task", { id }, controller.signal, MAX_CHECK_MS);
    finish(proven, title);
  } catch (error) {
    const missing = isAborted(error) ? "The checks were stopped." : describe(error);
    change(id, { isRunning: false, missing });
  } finally {
    unwatch();
  }
}

export function forgetChecks(id: string): void {
  const { [id]: _, ...others } = checks$.state;
  checks$.set(others);
}

function finish(proven: ProvenTask, title: string): void {
  if (proven.is_done) {
    forgetChecks(proven.id);
    showToast(`Done, its checks have passed: ${title}`);
  } else {
    change(proven.id, { isRunning: false, missing: proven.missing });
  }
}

function change(id: string, changes: Partial<RunningChecks>): void {
  const before = checks$.state[id];
  checks$.set({ ...checks$.state, [id]: { ...before, ...changes } as RunningChecks });
}

function describe(error: unknown): string {
  const { message, hint } = asApiError(error);
  return hint ? `${message}\n${hint}` : message;
}
