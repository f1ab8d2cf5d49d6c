// Text in which the ids of tasks, agents and sessions lead to what they name.
import type { JSX } from "preact";
import { formatAddress, taskAddress } from "../router";

const ID = /\b(?:bn|bna|bns)-[0-9a-f]{4,}\b/g;

export function IdText({ text }: { text: string }): JSX.Element {
  const parts: (JSX.Element | string)[] = [];
  let end = 0;
  for (const match of text.matchAll(ID)) {
    parts.push(text.slice(end, match.index), <IdLink id={match[0]} />);
    end = match.index + match[0].length;
  }
  parts.push(text.slice(end));
  return <>{parts}</>;
}

export function IdLink({ id }: { id: string }): JSX.Element {
  return (
    <a href={addressOf(id)} class="id-link">
      {id}
    </a>
  );
}

function addressOf(id: string): string {
  if (id.startsWith("bna-")) return formatAddress({ view: "agents", rest: [id] });
  if (id.startsWith("bns-")) return formatAddress({ view: "runs", rest: [id] });
  return taskAddress(id);
}
