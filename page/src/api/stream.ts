/**
 * What changes in the shown projects, as it happens.
 *
 * A browser opens at most six connections to one server, and a stream takes one for as long as it lasts. So the tabs of
 * a browser share one stream: the tab that holds a lock reads it and passes every message on to the others. When that
 * tab is closed, the lock goes to the next, which resumes after the newest event that it has heard of. A tab that
 * watches a topic (a running session) has a stream of its own for that, while it is visible.
 */

import { ApiError, SIGNED_OUT, api } from "./client";
import type { ChangeMessage, TopicMessage, Topics } from "./types";

/** `live`: every change arrives; `reconnecting`: what is shown may be old; `signed out`: the server wants a new link. */
export type ConnectionState = "connecting" | "live" | "reconnecting" | "signed out";

export interface ChangeListener {
  /** Events of a project in their order. With `reset`, everything about it must be read again. */
  onChange(message: ChangeMessage): void;
  onState(state: ConnectionState): void;
}

const LOCK = "binnacle-stream";
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 10_000;
const SIGNED_OUT_RETRY_MS = 15_000;
const TICK_MS = 10_000;
/** The server sends `alive` every 15 s. A stream that is silent for longer died, perhaps while the machine slept. */
const SILENT_MS = 40_000;

type Passed =
  | { kind: "change"; message: ChangeMessage }
  | { kind: "state"; state: ConnectionState }
  | { kind: "hello" }
  | { kind: "cursors"; cursors: [string, number][]; state: ConnectionState };

/** Follows the changes of all shown projects, alone or for the other tabs too. Returns what ends it. */
export function followChanges(cursors: ReadonlyMap<string, number>, listener: ChangeListener): () => void {
  const follower = new ChangeFollower(cursors, listener);
  return () => follower.close();
}

class ChangeFollower {
  private readonly cursors: Map<string, number>;
  private readonly listener: ChangeListener;
  private readonly channel = new BroadcastChannel(LOCK);
  private readonly closing = new AbortController();
  private state: ConnectionState = "connecting";
  private source: ReopenedSource | undefined;

  constructor(cursors: ReadonlyMap<string, number>, listener: ChangeListener) {
    this.cursors = new Map(cursors);
    this.listener = listener;
    this.channel.onmessage = (event: MessageEvent<Passed>) => this.hear(event.data);
    this.pass({ kind: "hello" });
    navigator.locks
      .request(LOCK, { signal: this.closing.signal }, () => this.lead())
      .catch(() => undefined); // closed before the lock was free
  }

  close(): void {
    this.closing.abort();
    this.source?.close();
    this.channel.close();
  }

  /** Reads the stream for all tabs, until this one is closed. */
  private lead(): Promise<void> {
    this.source = new ReopenedSource({
      address: () => `/api/stream?after=${encodeURIComponent(cursorText(this.cursors))}`,
      onMessage: (_, data) => this.take(JSON.parse(data) as ChangeMessage),
      onState: (state) => {
        this.setState(state);
        this.pass({ kind: "state", state });
      },
    });
    return new Promise((resolve) => {
      this.closing.signal.addEventListener("abort", () => resolve());
    });
  }

  private take(message: ChangeMessage): void {
    this.apply(message);
    this.pass({ kind: "change", message });
  }

  private apply(message: ChangeMessage): void {
    if (message.cursor !== undefined) this.cursors.set(message.project, message.cursor);
    this.listener.onChange(message);
  }

  private hear(passed: Passed): void {
    switch (passed.kind) {
      case "hello":
        if (this.source) this.pass({ kind: "cursors", cursors: [...this.cursors], state: this.state });
        break;
      case "cursors":
        this.setState(passed.state);
        for (const [project, cursor] of passed.cursors) this.skipTo(project, cursor);
        break;
      case "change":
        this.apply(passed.message);
        break;
      case "state":
        this.setState(passed.state);
        break;
    }
  }

  /** Catches up with the tab that leads: what it has heard before is not passed on again. */
  private skipTo(project: string, cursor: number): void {
    if ((this.cursors.get(project) ?? 0) < cursor) this.apply({ project, cursor, reset: true });
  }

  private setState(state: ConnectionState): void {
    if (state !== this.state) {
      this.state = state;
      this.listener.onState(state);
    }
  }

  private pass(message: Passed): void {
    if (!this.closing.signal.aborted) this.channel.postMessage(message);
  }
}

export interface TopicListener<Message> {
  onMessage(message: Message): void;
  /** The topic is over, by itself or with an error. */
  onEnd?(error: ApiError | undefined): void;
  onState?(state: ConnectionState): void;
}

/**
 * Watches a topic while the tab is visible. Returns what ends it.
 *
 * `what` is asked at every connection, so it can say from where to go on: after a break the topic starts anew.
 */
export function watchTopic<Name extends keyof Topics & string>(
  project: string,
  topic: Name,
  what: () => string,
  listener: TopicListener<Topics[Name]>,
): () => void {
  let source: ReopenedSource | undefined;
  let isOver = false;
  const end = (error: ApiError | undefined) => {
    isOver = true;
    source?.close();
    listener.onEnd?.(error);
  };
  const open = () =>
    new ReopenedSource({
      address: () => `/api/stream?changes=no&watch=${encodeURIComponent(`${project}:${topic}:${what()}`)}`,
      names: [topic],
      onMessage: (_, data) => {
        const told = JSON.parse(data) as TopicMessage;
        const { error } = told;
        if (told.is_over) end(error ? new ApiError(error.code, error.message, error.hint, 0) : undefined);
        else listener.onMessage(told.message as Topics[Name]);
      },
      onState: (state) => listener.onState?.(state),
    });
  const show = () => {
    if (isOver) return;
    if (document.hidden) {
      source?.close();
      source = undefined;
    } else {
      source ??= open();
    }
  };
  document.addEventListener("visibilitychange", show);
  show();
  return () => {
    isOver = true;
    document.removeEventListener("visibilitychange", show);
    source?.close();
  };
}

interface SourceOptions {
  address(): string;
  /** The names of the messages besides `message`. */
  names?: string[];
  onMessage(name: string, data: string): void;
  onState(state: ConnectionState): void;
}

/** An `EventSource` that is opened again whenever it ends, with growing pauses, and after the machine slept. */
class ReopenedSource {
  private readonly options: SourceOptions;
  private source: EventSource | undefined;
  private retry: number | undefined;
  private readonly ticker: number;
  private pause = FIRST_RETRY_MS;
  private heardAt = Date.now();
  private isClosed = false;
  private isLive = false;

  constructor(options: SourceOptions) {
    this.options = options;
    this.ticker = window.setInterval(() => this.tick(), TICK_MS);
    window.addEventListener("pageshow", this.wake);
    window.addEventListener("online", this.wake);
    document.addEventListener("visibilitychange", this.wake);
    this.open();
  }

  close(): void {
    this.isClosed = true;
    window.clearInterval(this.ticker);
    window.clearTimeout(this.retry);
    window.removeEventListener("pageshow", this.wake);
    window.removeEventListener("online", this.wake);
    document.removeEventListener("visibilitychange", this.wake);
    this.source?.close();
  }

  private open(): void {
    this.source?.close();
    window.clearTimeout(this.retry);
    const source = new EventSource(this.options.address());
    this.source = source;
    this.heardAt = Date.now();
    source.onopen = () => {
      this.heardAt = Date.now();
      this.pause = FIRST_RETRY_MS;
      this.isLive = true;
      this.options.onState("live");
    };
    source.onerror = () => {
      if (source === this.source) void this.fail();
    };
    for (const name of ["message", "alive", ...(this.options.names ?? [])]) {
      source.addEventListener(name, (event: MessageEvent<string>) => {
        this.heardAt = Date.now();
        if (name !== "alive") this.options.onMessage(name, event.data);
      });
    }
  }

  /** Finds out why the stream ended, which an `EventSource` does not say, and tries again later. */
  private async fail(): Promise<void> {
    this.source?.close();
    this.isLive = false;
    const isSignedOut = await api.projects().then(
      () => false,
      (error: unknown) => error instanceof ApiError && error.code === SIGNED_OUT,
    );
    if (this.isClosed) return;
    this.options.onState(isSignedOut ? "signed out" : "reconnecting");
    const pause = isSignedOut ? SIGNED_OUT_RETRY_MS : this.pause * (0.75 + Math.random() / 2);
    this.pause = Math.min(this.pause * 2, LAST_RETRY_MS);
    window.clearTimeout(this.retry);
    this.retry = window.setTimeout(() => this.open(), pause);
  }

  private tick(): void {
    if (Date.now() - this.heardAt > SILENT_MS) this.open();
  }

  /** Tries at once when there is reason to: somebody looks again, the network is back, the tab was restored. */
  private readonly wake = (event: Event): void => {
    const isRestored = event.type === "pageshow" && (event as PageTransitionEvent).persisted;
    const isWaiting = event.type !== "pageshow" && !this.isLive && !document.hidden;
    if ((isRestored || isWaiting) && !this.isClosed) this.open();
  };
}

function cursorText(cursors: ReadonlyMap<string, number>): string {
  return [...cursors].map(([project, cursor]) => `${project}:${cursor}`).join(",");
}
