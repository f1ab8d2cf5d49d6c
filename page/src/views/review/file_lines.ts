// The lines of one file's difference, loaded a part at a time as they come into sight.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, ApiError } from "../../api/client";
import type { DiffLine, ReviewLinesQuery } from "../../api/types";
import { useAddress } from "../../router";

const PART_LINES = 800;

export interface FileLines {
  /** By their places; undefined where they are not loaded yet. */
  lines: readonly (DiffLine | undefined)[];
  /** Undefined until the first part is there. */
  total: number | undefined;
  /** Why there is nothing to see. */
  problem: string;
  error: ApiError | null;
  need: (first: number) => void;
}

type LinesOfFile = Pick<ReviewLinesQuery, "commit" | "before" | "path" | "was" | "context">;

const NOTHING: Omit<FileLines, "need"> = { lines: [], total: undefined, problem: "", error: null };

/** The lines of a file between two commits. Nothing is loaded before `isWanted`. */
export function useFileLines(file: LinesOfFile, isWanted: boolean): FileLines {
  const { project } = useAddress();
  const [state, setState] = useState(NOTHING);
  const asked = useRef(new Set<number>());
  const key = JSON.stringify(file);
  const current = useRef(key);
  if (current.current !== key) {
    current.current = key;
    asked.current = new Set();
  }
  const need = (first: number) => {
    const offset = Math.floor(first / PART_LINES) * PART_LINES;
    if (asked.current.has(offset)) return;
    asked.current.add(offset);
    api.read(project, "review_lines", { ...file, offset, limit: PART_LINES }).then(
      (answer) => {
        if (current.current !== key) return;
        setState((known) => {
          const lines = offset === 0 && known.total === undefined ? [] : [...known.lines];
          answer.lines.forEach((line, at) => (lines[offset + at] = line));
          return { lines, total: answer.total, problem: answer.problem, error: null };
        });
      },
      (error: unknown) => {
        asked.current.delete(offset);
        if (current.current === key && error instanceof ApiError) setState((known) => ({ ...known, error }));
      },
    );
  };
  useEffect(() => {
    if (!isWanted) return;
    setState((known) => (known.total === undefined ? known : { ...NOTHING, lines: known.lines, total: undefined }));
    need(0);
  }, [key, isWanted]);
  return { ...state, need };
}
