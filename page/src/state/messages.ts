// What the page says by itself: messages that go away, and words for screen readers.
import type { ApiError } from "../api/client";
import { Store } from "./store";

export interface PageMessage {
  id: number;
  kind: "done" | "error";
  text: string;
  hint: string;
}

const MAX_SHOWN = 4;
const SHOWN_MS = 6_000;

export const messages$ = new Store<readonly PageMessage[]>([]);
export const announcement$ = new Store("");

let nextId = 1;

/** Says shortly that something is done. It goes away by itself. */
export function showToast(text: string): void {
  const id = add({ kind: "done", text, hint: "" });
  setTimeout(() => dismiss(id), SHOWN_MS);
}

/** Says what went wrong and what to do about it. It stays until it is closed. */
export function showError(error: Pick<ApiError, "message" | "hint">): void {
  add({ kind: "error", text: error.message, hint: error.hint });
}

export function dismiss(id: number): void {
  messages$.set(messages$.state.filter((one) => one.id !== id));
}

/** Says something to screen readers only. */
export function announce(text: string): void {
  announcement$.set("");
  setTimeout(() => announcement$.set(text), 50);
}

function add(message: Omit<PageMessage, "id">): number {
  const id = nextId++;
  const same = (one: PageMessage) => one.text === message.text && one.kind === message.kind;
  messages$.set([...messages$.state.filter((one) => !same(one)), { ...message, id }].slice(-MAX_SHOWN));
  return id;
}
