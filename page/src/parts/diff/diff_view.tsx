// How a file differs, as a table of lines with their numbers. Lines come in parts: those that are far from what is seen
// are neither loaded nor in the page, so a difference may be as long as it likes.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { DiffLine } from "../../api/types";
import { type DiffLayout, type DiffRow, type DiffSide, makeRows } from "./diff_rows";
import { useNear } from "./near";
import { splitHidden } from "./visible_text";

export const CHUNK_LINES = 40;
const ROW_REM = 1.25;
const NEAR_MARGIN = "400px 0px";

export interface DiffViewProps {
  /** The name of the file. */
  label: string;
  total: number;
  /** The lines that are there, by their places. */
  lines: readonly (DiffLine | undefined)[];
  layout: DiffLayout;
  /** Asks for lines that are about to be seen. */
  onNeed: (first: number) => void;
  /** Called with the number of a line in the new file; without it, no line can be commented. */
  onComment?: (line: number) => void;
  /** What belongs below a line of the new file, such as its comments. */
  below?: (line: number) => ComponentChildren;
}

export function DiffView(props: DiffViewProps): JSX.Element {
  const { total, label, layout } = props;
  const columns = layout === "split" ? 4 : 3;
  const chunks = Array.from({ length: Math.ceil(total / CHUNK_LINES) }, (_, at) => at * CHUNK_LINES);
  return (
    <table class={`diff ${layout}`} aria-label={`Changes of ${label}`} aria-rowcount={total}>
      <colgroup>
        <col class="diff-number-column" />
        {layout === "split" && <col />}
        <col class="diff-number-column" />
        <col />
      </colgroup>
      <thead class="sr-only">
        <tr>
          <th scope="col">Old line</th>
          {layout === "split" && <th scope="col">Old code</th>}
          <th scope="col">New line</th>
          <th scope="col">{layout === "split" ? "New code" : "Code"}</th>
        </tr>
      </thead>
      {chunks.map((first) => (
        <DiffChunk key={`${layout}${first}`} {...props} first={first} columns={columns} />
      ))}
    </table>
  );
}

function DiffChunk(props: DiffViewProps & { first: number; columns: number }): JSX.Element {
  const { first, total, lines, layout, onNeed, columns, below } = props;
  const { ref, isNear, height } = useNear<HTMLTableSectionElement>(NEAR_MARGIN);
  const count = Math.min(CHUNK_LINES, total - first);
  const isThere = lines[first] !== undefined;
  const part = lines.slice(first, first + count) as DiffLine[];
  const rows = useMemo(() => (isNear && isThere ? makeRows(part, first, layout) : []), [isNear, isThere, layout, lines]);
  useEffect(() => {
    if (isNear && !isThere) onNeed(first);
  }, [isNear, isThere]);
  if (rows.length === 0) {
    return (
      <tbody ref={ref} class="diff-gap">
        <tr>
          <td colSpan={columns} ref={setHeight(height ? `${height}px` : `${count * ROW_REM}rem`)} />
        </tr>
      </tbody>
    );
  }
  return (
    <tbody ref={ref}>
      {rows.map((row) => (
        <RowWithNotes key={row.key} row={row} below={below?.(row.now?.line.new ?? 0)} props={props} />
      ))}
    </tbody>
  );
}

function setHeight(height: string): (element: HTMLElement | null) => void {
  return (element) => {
    if (element) element.style.height = height;
  };
}

interface RowProps {
  row: DiffRow;
  below: ComponentChildren;
  props: DiffViewProps & { columns: number };
}

function RowWithNotes({ row, below, props }: RowProps): JSX.Element {
  const { layout, onComment, columns } = props;
  const line = (row.now ?? row.old)?.line as DiffLine;
  if (line.kind === "hunk" || line.kind === "note") return <PlainRow line={line} columns={columns} />;
  const isCommentable = onComment !== undefined && row.now !== null;
  const number = <NumberCell side={row.now} number={row.now?.line.new ?? 0} onComment={isCommentable ? onComment : undefined} />;
  return (
    <>
      <tr class={layout === "unified" ? line.kind : ""} tabIndex={-1} data-line={row.now?.line.new || undefined}>
        <td class={`diff-number ${layout === "split" ? sideClass(row.old, "removed") : ""}`}>{row.old?.line.old || ""}</td>
        {layout === "split" && <CodeCell side={row.old} kind={sideClass(row.old, "removed")} />}
        {number}
        <CodeCell side={row.now ?? (layout === "unified" ? row.old : null)} kind={layout === "split" ? sideClass(row.now, "added") : ""} />
      </tr>
      {below && (
        <tr class="diff-below">
          <td colSpan={columns}>{below}</td>
        </tr>
      )}
    </>
  );
}

function sideClass(side: DiffSide | null, changed: "added" | "removed"): string {
  if (!side) return "empty";
  return side.line.kind === changed ? changed : "";
}

function PlainRow({ line, columns }: { line: DiffLine; columns: number }): JSX.Element {
  const words = line.kind === "hunk" ? `Line ${line.new}${line.text ? ` · ${line.text}` : ""}` : line.text;
  return (
    <tr class={`diff-${line.kind}`} tabIndex={-1} data-line={line.kind === "hunk" ? line.new : undefined}>
      <td colSpan={columns}>{splitHidden(words)}</td>
    </tr>
  );
}

function NumberCell({ side, number, onComment }: { side: DiffSide | null; number: number; onComment: ((line: number) => void) | undefined }): JSX.Element {
  return (
    <td class={`diff-number ${side?.line.kind === "added" ? "added" : ""}`}>
      {onComment && number > 0 ? (
        <button type="button" tabIndex={-1} title={`Comment on line ${number}`} onClick={() => onComment(number)}>
          {number}
        </button>
      ) : (
        number || ""
      )}
    </td>
  );
}

function CodeCell({ side, kind }: { side: DiffSide | null; kind: string }): JSX.Element {
  if (!side) return <td class={`diff-code ${kind}`} />;
  const { line, marks } = side;
  return (
    <td class={`diff-code ${kind || line.kind}`}>
      {marks ? marks.map((part) => (part.isChanged ? <mark>{splitHidden(part.text)}</mark> : splitHidden(part.text))) : splitHidden(line.text)}
      {(line.cut ?? 0) > 0 && <span class="diff-cut"> … {line.cut} more characters</span>}
    </td>
  );
}
