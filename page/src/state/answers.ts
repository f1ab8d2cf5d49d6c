// What the server answered, by question: shown at once when it is asked again, and asked again when something changed.
import { api, type ApiError } from "../api/client";
import type { Reads } from "../api/types";
import { asApiError } from "./faults";

export type ReadName = keyof Reads;

/** What an answer depends on: the entities of events that make it old. */
export type Entities = readonly string[] | "all";

export interface Question {
  project: string;
  name: ReadName;
  asked: object;
  on: Entities;
  /** Asked again also while the page is hidden. */
  whileHidden: boolean;
}

interface SavedAnswer {
  question: Question;
  answer: unknown;
  error: ApiError | null;
  isLoading: boolean;
  isOld: boolean;
  listeners: Set<() => void>;
}

const REFRESH_DELAY_MS = 120;
/** How many answers nobody looks at now are kept, to be shown when somebody comes back. */
const MAX_UNWATCHED = 40;

const saved = new Map<string, SavedAnswer>();
let timer: number | undefined;

export function questionKey({ project, name, asked }: Pick<Question, "project" | "name" | "asked">): string {
  return `${project} ${name} ${JSON.stringify(asked)}`;
}

export function savedAnswer(key: string): Readonly<SavedAnswer> | undefined {
  return saved.get(key);
}

/** Asks unless a fresh answer is there, and tells of every later one until the returned function is called. */
export function watchAnswer(key: string, question: Question, listener: () => void): () => void {
  let one = saved.get(key);
  if (!one) {
    one = { question, answer: undefined, error: null, isLoading: false, isOld: true, listeners: new Set() };
  }
  const entry = one;
  saved.delete(key); // the map is in the order of use
  saved.set(key, entry);
  entry.question = question;
  entry.listeners.add(listener);
  if (entry.isOld || entry.error) void load(entry);
  return () => {
    entry.listeners.delete(listener);
    dropUnwatched();
  };
}

/** Makes answers of a project old that depend on one of these entities. */
export function markChanged(project: string, entities: ReadonlySet<string> | "all"): void {
  for (const entry of saved.values()) {
    const { on } = entry.question;
    const isAffected = entities === "all" || on === "all" || on.some((one) => entities.has(one));
    if (entry.question.project === project && isAffected) entry.isOld = true;
  }
  refreshSoon();
}

/** Makes every answer old: something may have been missed. */
export function markAllOld(): void {
  for (const entry of saved.values()) entry.isOld = true;
  refreshSoon();
}

export function reload(key: string): void {
  const entry = saved.get(key);
  if (entry) void load(entry);
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refreshSoon();
});

function refreshSoon(): void {
  timer ??= setTimeout(() => {
    timer = undefined;
    for (const entry of saved.values()) {
      const isShown = entry.listeners.size > 0 && (!document.hidden || entry.question.whileHidden);
      if (entry.isOld && isShown) void load(entry);
    }
  }, REFRESH_DELAY_MS);
}

async function load(entry: SavedAnswer): Promise<void> {
  if (entry.isLoading) {
    entry.isOld = true;
    return;
  }
  entry.isLoading = true;
  entry.isOld = false;
  notify(entry);
  const { project, name, asked } = entry.question;
  try {
    const answer: unknown = await api.read(project, name, asked as never);
    entry.answer = sameAs(entry.answer, answer) ? entry.answer : answer;
    entry.error = null;
  } catch (error) {
    entry.error = asApiError(error);
  }
  entry.isLoading = false;
  notify(entry);
  if (entry.isOld) refreshSoon();
}

/** Whether nothing changed, so that nothing has to be rendered again. */
function sameAs(old: unknown, answer: unknown): boolean {
  return old !== undefined && JSON.stringify(old) === JSON.stringify(answer);
}

function notify(entry: SavedAnswer): void {
  for (const listener of [...entry.listeners]) listener();
}

function dropUnwatched(): void {
  const unwatched = [...saved].filter(([, entry]) => entry.listeners.size === 0);
  for (const [key] of unwatched.slice(0, Math.max(0, unwatched.length - MAX_UNWATCHED))) saved.delete(key);
}
