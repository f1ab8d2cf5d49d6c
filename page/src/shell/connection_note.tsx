// Whether what is shown is up to date, and what to do if it is not.
import type { JSX } from "preact";
import { useAddress } from "../router";
import { useStore } from "../state/store";
import { connection$, type ConnectionState, problems$ } from "../state/stream";

const WORDS: Record<ConnectionState | "store lost", readonly [string, string]> = {
  connecting: ["Connecting", "Waiting for the first word of the server."],
  live: ["Live", "Changes are shown as they happen."],
  reconnecting: ["Reconnecting", "The server does not answer. What you see may be old. If it has ended, start it again: bn gui"],
  "store lost": ["No store", "The store of this project cannot be read now. What you see may be old."],
  "signed out": ["Signed out", "Run bn gui --link in the project, and open the link that it prints."],
};

export function ConnectionNote(): JSX.Element {
  const { project } = useAddress();
  const connection = useStore(connection$, (now) => now);
  const problem = useStore(problems$, (now) => now[project]);
  const state = connection === "live" && problem ? "store lost" : connection;
  const [word, title] = WORDS[state];
  return (
    <p class={`connection ${state.replace(" ", "-")}`} role="status" title={problem ? `${title} ${problem.message}. ${problem.hint}` : title}>
      <span class="dot" aria-hidden="true" />
      <span>{word}</span>
      {state === "signed out" && <span class="connection-help"> — run bn gui --link and open its link</span>}
    </p>
  );
}
