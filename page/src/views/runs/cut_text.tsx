// A text of a transcript: folded if it is long, and loaded completely if only its beginning is here.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { api, ApiError } from "../../api/client";
import { splitHidden } from "../../parts/diff/visible_text";
import { useAddress } from "../../router";
import { showError } from "../../state/messages";
import type { CutField, CutText } from "./transcript_steps";

export interface LongTextProps {
  session: string;
  text: string;
  field: CutField;
  cut?: CutText | undefined;
  /** Lines that are shown before somebody asks for more. */
  lines: number;
  label: string;
  /** Makes the text readable before it is folded. */
  format?: ((text: string) => string) | undefined;
  /** How the text is shown; as lines of code unless given. */
  render?: (text: string) => ComponentChildren;
}

const MAX_LINE = 600;

export function LongText({ session, text, field, cut, lines, label, format, render }: LongTextProps): JSX.Element {
  const { project } = useAddress();
  const [isOpen, setOpen] = useState(false);
  const [complete, setComplete] = useState<string | null>(null);
  const all = (format ?? String)(complete ?? text).replace(/\n+$/, "").split("\n");
  const folded = isOpen ? all : all.slice(0, lines).map((line) => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line));
  const isFolded = all.length > lines || all.some((line) => line.length > MAX_LINE);
  const isCut = cut !== undefined && complete === null;

  async function showAll(): Promise<void> {
    setOpen(true);
    if (!cut || complete !== null) return;
    try {
      const found = await api.read(project, "transcript_entry", { session, offset: cut.offset });
      setComplete(found.entry[field] ?? "");
    } catch (problem) {
      if (problem instanceof ApiError) showError(problem);
    }
  }

  return (
    <div class="long-text">
      {render ? render(folded.join("\n")) : <pre class="code" aria-label={label} tabIndex={0}>{splitHidden(folded.join("\n"))}</pre>}
      {(isFolded || isCut) && (
        <button
          type="button"
          class="link-button"
          aria-expanded={isOpen}
          onClick={() => (isOpen && !isCut ? setOpen(false) : void showAll())}
        >
          {isOpen && !isCut ? "Show less" : isCut ? `Show all ${cut.length.toLocaleString()} characters` : `Show all ${all.length} lines`}
        </button>
      )}
    </div>
  );
}
