// Lines of a difference as rows of a table: one below the other, or old and new side by side.
import type { DiffLine } from "../../api/types";
import { type MarkedPart, markWords } from "./word_marks";

export interface DiffSide {
  line: DiffLine;
  /** The words that were changed, if they are known. */
  marks: MarkedPart[] | null;
}

export interface DiffRow {
  key: string;
  /** The line of the old file, and of the new one; the same line twice where nothing was changed. */
  old: DiffSide | null;
  now: DiffSide | null;
}

export type DiffLayout = "unified" | "split";

/** The rows of some lines. `first` is the place of the first of them in the file's difference. */
export function makeRows(lines: readonly DiffLine[], first: number, layout: DiffLayout): DiffRow[] {
  const rows: DiffRow[] = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as DiffLine;
    if (line.kind !== "removed" && line.kind !== "added") {
      const side = { line, marks: null };
      rows.push({ key: `${first + at}`, old: side, now: side });
      at += 1;
      continue;
    }
    const removed = takeWhile(lines, at, "removed");
    const added = takeWhile(lines, at + removed.length, "added");
    rows.push(...makeChangedRows(removed, added, first + at, layout));
    at += removed.length + added.length;
  }
  return rows;
}

function takeWhile(lines: readonly DiffLine[], start: number, kind: DiffLine["kind"]): DiffLine[] {
  let end = start;
  while (lines[end]?.kind === kind) end += 1;
  return lines.slice(start, end);
}

function makeChangedRows(removed: readonly DiffLine[], added: readonly DiffLine[], first: number, layout: DiffLayout): DiffRow[] {
  const marks = removed.map((line, at) => {
    const other = added[at];
    return other ? markWords(line.text, other.text) : null;
  });
  const old = removed.map((line, at) => ({ line, marks: marks[at]?.before ?? null }));
  const now = added.map((line, at) => ({ line, marks: marks[at]?.after ?? null }));
  if (layout === "split") {
    return Array.from({ length: Math.max(old.length, now.length) }, (_, at) => ({
      key: `${first + at}s`,
      old: old[at] ?? null,
      now: now[at] ?? null,
    }));
  }
  return [
    ...old.map((side, at) => ({ key: `${first + at}`, old: side, now: null })),
    ...now.map((side, at) => ({ key: `${first + removed.length + at}`, old: null, now: side })),
  ];
}
