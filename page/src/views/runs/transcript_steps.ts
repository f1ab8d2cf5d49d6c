// The entries of a transcript as steps: pieces of a message are one step, and so is everything about a tool call.
import type { PlacedEntry, TranscriptEntry } from "../../api/types";

export type CutField = "text" | "input" | "output" | "diff";

/** Where the complete text of a field is, if the entry has only its beginning. */
export interface CutText {
  offset: number;
  length: number;
}

export interface TranscriptStep {
  /** The offset of its first entry: the same for as long as the transcript exists. */
  key: number;
  kind: string;
  iteration: number;
  at: string;
  text: string;
  cut: Partial<Record<CutField, CutText>>;
  call: CallStep | null;
  steps: readonly (readonly [string, string])[];
}

/** What is known of a tool call so far. */
export interface CallStep {
  title: string;
  kind: string;
  status: string;
  input: string;
  output: string;
  diff: string;
  paths: readonly string[];
  /** Whether a person or a policy allowed it; null if nobody had to. */
  isAllowed: boolean | null;
  by: string;
  endedAt: string;
}

const HIDDEN = new Set(["usage"]);
const JOINED = new Set(["message", "thought"]);
const CUT_FIELDS = ["text", "input", "output", "diff"] as const;

/** The steps of entries that follow each other. */
export function makeSteps(entries: readonly PlacedEntry[]): TranscriptStep[] {
  const steps: TranscriptStep[] = [];
  const calls = new Map<string, TranscriptStep>();
  for (const placed of entries) {
    const { entry } = placed;
    if (HIDDEN.has(entry.kind)) continue;
    const last = steps.at(-1);
    if (entry.kind === "tool" || entry.kind === "permission") {
      const key = `${entry.iteration} ${entry.id ?? ""}`;
      const known = calls.get(key);
      if (known) noteCall(known, placed);
      else {
        const step = beginStep(placed, "call");
        noteCall(step, placed);
        calls.set(key, step);
        steps.push(step);
      }
    } else if (last && JOINED.has(entry.kind) && last.kind === entry.kind && last.iteration === entry.iteration) {
      last.text += entry.text ?? "";
      noteCut(last, placed);
    } else {
      const step = beginStep(placed, entry.kind);
      noteCut(step, placed);
      steps.push(step);
    }
  }
  return steps;
}

function beginStep({ offset, entry }: PlacedEntry, kind: string): TranscriptStep {
  const call = kind === "call" ? emptyCall() : null;
  const text = call ? "" : entry.text ?? "";
  return { key: offset, kind, iteration: entry.iteration, at: entry.at, text, cut: {}, call, steps: entry.steps ?? [] };
}

function emptyCall(): CallStep {
  return { title: "", kind: "", status: "", input: "", output: "", diff: "", paths: [], isAllowed: null, by: "", endedAt: "" };
}

function noteCall(step: TranscriptStep, placed: PlacedEntry): void {
  const { entry } = placed;
  const call = step.call;
  if (!call) return;
  // Some agents give the request for permission another title than the call.
  if (entry.title && (entry.kind === "tool" || !call.title)) call.title = entry.title;
  call.kind = entry.tool || call.kind;
  call.status = entry.status || call.status;
  call.input = entry.input || call.input;
  call.output = entry.output || call.output;
  call.diff = entry.diff || call.diff;
  if (entry.paths?.length) call.paths = entry.paths;
  if (entry.kind === "permission") {
    call.isAllowed = entry.is_allowed ?? null;
    call.by = entry.by ?? "";
  }
  if (isOver(entry)) call.endedAt = entry.at;
  noteCut(step, placed);
}

function isOver(entry: TranscriptEntry): boolean {
  return entry.status === "completed" || entry.status === "failed";
}

function noteCut(step: TranscriptStep, { offset, cut }: PlacedEntry): void {
  for (const field of CUT_FIELDS) {
    const length = cut[field];
    if (length) step.cut[field] = { offset, length };
  }
}

/** Seconds that a call took; null while it runs. */
export function callSeconds(step: TranscriptStep): number | null {
  return step.call?.endedAt ? Math.max(0, (Date.parse(step.call.endedAt) - Date.parse(step.at)) / 1000) : null;
}
