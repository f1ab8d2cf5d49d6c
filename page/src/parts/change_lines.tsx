// What changed in a text, as the lines of a difference: those that begin with + were added, those with - are gone.
import type { JSX } from "preact";

const MAX_LINES = 600;

export function ChangeLines({ lines, label }: { lines: readonly string[]; label: string }): JSX.Element {
  return (
    <pre class="code change-lines" tabIndex={0} aria-label={label}>
      {lines.slice(0, MAX_LINES).map((line) => (
        <span class={classOf(line)}>{`${line}\n`}</span>
      ))}
      {lines.length > MAX_LINES && `… ${lines.length - MAX_LINES} more lines`}
    </pre>
  );
}

function classOf(line: string): string {
  if (line.startsWith("+++") || line.startsWith("---") || line.startsWith("@@")) return "muted";
  if (line.startsWith("+")) return "added-line";
  return line.startsWith("-") ? "removed-line" : "";
}
