// A difference that comes as text, in the colours of a difference. Whatever does not look like one is shown as it is.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { splitHidden } from "./visible_text";

export interface DiffTextProps {
  text: string;
  label: string;
  maxLines?: number;
}

const STYLES: Readonly<Record<string, string>> = { "+": "added", "-": "removed", "@": "hunk" };
const HEAD = /^(?:---|\+\+\+) /;

export function DiffText({ text, label, maxLines = 40 }: DiffTextProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const lines = text.replace(/\n$/, "").split("\n");
  const isDiff = lines.some((line) => line.startsWith("@@ ")) || lines.some((line) => line.startsWith("--- "));
  const shown = isOpen ? lines.slice(0, MAX_LINES) : lines.slice(0, maxLines);
  return (
    <div class="code-text">
      <pre class="code diff-text" tabIndex={0} aria-label={label}>
        {shown.map((line) => (
          <span class={`diff-text-line ${isDiff ? styleOf(line) : ""}`}>
            {splitHidden(line.slice(0, MAX_CHARACTERS))}
            {line.length > MAX_CHARACTERS && ` … ${line.length - MAX_CHARACTERS} more characters`}
            {"\n"}
          </span>
        ))}
      </pre>
      {lines.length > maxLines && (
        <div class="code-actions">
          <button type="button" class="link-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? "Show less" : `Show all ${lines.length} lines`}
          </button>
        </div>
      )}
    </div>
  );
}

function styleOf(line: string): string {
  return HEAD.test(line) ? "hunk" : (STYLES[line.charAt(0)] ?? "");
}

const MAX_LINES = 1_500;
const MAX_CHARACTERS = 4_000;
