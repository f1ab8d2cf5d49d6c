// Whether what is shown is up to date, and what to do if it is not.
import type { JSX } from "preact";
import { useStore } from "../state/store";
import { connection$, type ConnectionState } from "../state/stream";

const WORDS: Record<ConnectionState, readonly [string, string]> = {
  connecting: ["Connecting", "Waiting for the first word of the server."],
  live: ["Live", "Changes are shown as they happen."],
  reconnecting: ["Reconnecting", "The server does not answer. What you see may be old. If it has ended, start it again: bn gui"],
  "signed out": ["Signed out", "Run bn gui in the project, and open the link that it prints."],
};

export function ConnectionNote(): JSX.Element {
  const state = useStore(connection$, (now) => now);
  const [word, title] = WORDS[state];
  return (
    <p class={`connection ${state.replace(" ", "-")}`} role="status" title={title}>
      <span class="dot" aria-hidden="true" />
      <span>{word}</span>
      {state === "signed out" && <span class="connection-help"> — run bn gui and open its link</span>}
    </p>
  );
}
