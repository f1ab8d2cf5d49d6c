// Text of programs: logs, commands, file contents. Long text is folded, and can be copied.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { showToast } from "../state/messages";

export interface CodeTextProps {
  text: string;
  /** Lines that are shown before somebody asks for all of them. */
  maxLines?: number;
  label?: string;
}

export function CodeText({ text, maxLines = 24, label = "Text" }: CodeTextProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const lines = text.split("\n");
  const isLong = lines.length > maxLines;
  const copy = () => navigator.clipboard.writeText(text).then(() => showToast("Copied."));
  return (
    <div class="code-text">
      <pre class="code" tabIndex={0} aria-label={label}>
        {isLong && !isOpen ? lines.slice(0, maxLines).join("\n") : text}
      </pre>
      <div class="code-actions">
        {isLong && (
          <button type="button" class="link-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? "Show less" : `Show all ${lines.length} lines`}
          </button>
        )}
        <button type="button" class="link-button" onClick={copy}>
          Copy
        </button>
      </div>
    </div>
  );
}
