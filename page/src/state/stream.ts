// What changed makes answers old, and topics bring what is not in the store, such as what an agent is saying.
import { type ConnectionState, followChanges, watchTopic as openTopic } from "../api/stream";
import type { ChangeMessage, Event as StreamEvent, PageError, Topics } from "../api/types";
import { markAllOld, markChanged } from "./answers";
import { Store } from "./store";

export type { ConnectionState, StreamEvent };

/** Without a project, events of any may have been missed. */
type EventListener = (project: string | null, events: readonly StreamEvent[]) => void;

export const connection$ = new Store<ConnectionState>("connecting");

/** Why a project's store cannot be read now, by project. */
export const problems$ = new Store<Readonly<Record<string, PageError>>>({});

const listeners = new Set<EventListener>();

/** Follows every project from these events on: the newest that the page knows, by project. */
export function startStream(cursors: ReadonlyMap<string, number>): void {
  followChanges(cursors, { onChange: take, onState: setState });
}

/** Calls `listener` with the events of every project until the returned function is called. */
export function onEvents(listener: EventListener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Calls `listener` with what a topic brings until the returned function is called, while the tab is visible. */
export function watchTopic<Name extends keyof Topics & string>(
  project: string,
  topic: Name,
  what: string | (() => string),
  listener: (message: Topics[Name]) => void,
): () => void {
  return openTopic(project, topic, typeof what === "string" ? () => what : what, { onMessage: listener });
}

function setState(state: ConnectionState): void {
  if (state === "live" && connection$.state !== "connecting") askAgain(); // reads may have failed meanwhile
  connection$.set(state);
}

function take({ project, events = [], reset = false, problem }: ChangeMessage): void {
  if (problem) return report(project, problem);
  if (reset) return askAgain();
  if (events.length === 0) return;
  markChanged(project, new Set(events.map((one) => one.entity)));
  for (const listener of [...listeners]) listener(project, events);
}

function askAgain(): void {
  markAllOld();
  for (const listener of [...listeners]) listener(null, []);
}

function report(project: string, problem: PageError): void {
  const { [project]: before, ...others } = problems$.state;
  problems$.set(problem.code ? { ...others, [project]: problem } : others);
  if (before && !problem.code) askAgain(); // reads have failed meanwhile
}
