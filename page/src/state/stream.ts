// The one stream of events: what changed makes answers old, and topics bring what is not in the store, such as what an
// agent is saying. A stream that is lost or silent is opened again from where it was.
import { api, ApiError } from "../api/client";
import { markAllOld, markChanged } from "./answers";
import { Store } from "./store";

/** `live`: every change arrives; `reconnecting`: what is shown may be old; `signed out`: the server wants a new link. */
export type ConnectionState = "connecting" | "live" | "reconnecting" | "signed out";

export interface StreamEvent {
  seq: number;
  at: string;
  actor: string;
  entity: string;
  entity_id: string;
  action: string;
  changes: Record<string, unknown>;
}

export interface TopicMessage {
  project: string;
  what: string;
  message: unknown;
}

interface EventBatch {
  project?: string;
  cursor?: number;
  events?: StreamEvent[];
  reset?: boolean;
}

type TopicListener = (message: TopicMessage) => void;
type EventListener = (project: string, events: readonly StreamEvent[]) => void;

/** Longer than the server is ever silent. */
const MAX_SILENCE_MS = 40_000;
const CHECK_INTERVAL_MS = 5_000;
const MIN_RETRY_MS = 500;
const MAX_RETRY_MS = 10_000;

export const connection$ = new Store<ConnectionState>("connecting");

const topics = new Map<string, Set<TopicListener>>();
const listeners = new Set<EventListener>();
let source: EventSource | null = null;
let cursor = "";
let heardAt = 0;
let retryMs = MIN_RETRY_MS;
let retryTimer: number | undefined;
let reopenTimer: number | undefined;

export function startStream(): void {
  open();
  setInterval(() => {
    if (source && Date.now() - heardAt > MAX_SILENCE_MS) retry();
  }, CHECK_INTERVAL_MS);
  addEventListener("online", () => retryNow());
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && connection$.state !== "live") retryNow();
  });
}

/** Calls `listener` with the events of every project until the returned function is called. */
export function onEvents(listener: EventListener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Calls `listener` with what a topic of the stream brings until the returned function is called. */
export function watchTopic(project: string, topic: string, what: string, listener: TopicListener): () => void {
  const key = `${project}:${topic}:${what}`;
  const several = topics.get(key) ?? new Set();
  topics.set(key, several.add(listener));
  if (several.size === 1) reopenSoon();
  return () => {
    several.delete(listener);
    if (several.size === 0 && topics.get(key) === several) {
      topics.delete(key);
      reopenSoon();
    }
  };
}

function open(): void {
  source?.close();
  const query = new URLSearchParams(cursor ? { after: cursor } : {});
  for (const key of topics.keys()) query.append("watch", key);
  const stream = new EventSource(`/api/stream?${query}`);
  source = stream;
  heardAt = Date.now();
  stream.onopen = () => hear(() => {});
  stream.onerror = () => stream === source && retry();
  stream.onmessage = (event: MessageEvent<string>) => hear(() => take(event));
  stream.addEventListener("alive", () => hear(() => {}));
  for (const topic of new Set([...topics.keys()].map(topicOf))) {
    stream.addEventListener(topic, (event) => hear(() => takeTopic(topic, event as MessageEvent<string>)));
  }

  function hear(act: () => void): void {
    if (stream !== source) return;
    heardAt = Date.now();
    retryMs = MIN_RETRY_MS;
    if (connection$.state !== "live") {
      if (connection$.state !== "connecting") markAllOld(); // something may have been missed meanwhile
      connection$.set("live");
    }
    act();
  }
}

function take(event: MessageEvent<string>): void {
  if (event.lastEventId) cursor = event.lastEventId;
  const batch = JSON.parse(event.data) as EventBatch;
  if (batch.reset) return markAllOld();
  const { project = "", events = [] } = batch;
  if (events.length === 0) return;
  markChanged(project, new Set(events.map((one) => one.entity)));
  for (const listener of [...listeners]) listener(project, events);
}

function takeTopic(topic: string, event: MessageEvent<string>): void {
  const message = JSON.parse(event.data) as TopicMessage;
  for (const listener of topics.get(`${message.project}:${topic}:${message.what}`) ?? []) listener(message);
}

/** Finds out why the stream ended, and opens it again after a while unless nobody is signed in any more. */
function retry(): void {
  source?.close();
  source = null;
  if (connection$.state !== "signed out") connection$.set("reconnecting");
  clearTimeout(retryTimer);
  retryTimer = setTimeout(() => void reconnect(), retryMs);
  retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
}

function retryNow(): void {
  if (source && connection$.state === "live") return;
  retryMs = MIN_RETRY_MS;
  retry();
}

async function reconnect(): Promise<void> {
  try {
    await api.projects();
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) connection$.set("signed out");
    return retry();
  }
  open();
}

function reopenSoon(): void {
  reopenTimer ??= setTimeout(() => {
    reopenTimer = undefined;
    if (source) open();
  }, 30);
}

function topicOf(key: string): string {
  return key.slice(key.indexOf(":") + 1).split(":", 1)[0] ?? "";
}
