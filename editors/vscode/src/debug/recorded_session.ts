/** A session as it was recorded: its events, its output by lines, its exceptions. */

import type { Values } from "../protocol";
import type { Body } from "./debug_target";
import { type Entry, read } from "./session_recorder";

/** A line of output. */
export interface Line {
  at: number;
  category: string;
  text: string;
  source: string;
}

export class Recorded {
  constructor(
    readonly id: string,
    readonly entries: Entry[],
  ) {}

  static load(folder: string, id: string): Recorded {
    return new Recorded(id, read(folder, Number(id)));
  }

  get about(): Values {
    return this.entries[0]?.body ?? {};
  }

  get begun(): number {
    return this.entries[0]?.at ?? 0;
  }

  get lasted(): number {
    return (this.entries.at(-1)?.at ?? 0) - this.begun;
  }

  of(...kinds: string[]): Entry[] {
    return this.entries.filter((one) => kinds.includes(one.type));
  }

  /** The output, put together from the pieces it came in. */
  lines(category = "all"): Line[] {
    const found: Line[] = [];
    const open = new Map<string, Line>();
    for (const { at, body } of this.of("output") as { at: number; body: Body }[]) {
      const kind = String(body.category || "console");
      if (category !== "all" && category !== kind) continue;
      for (const piece of String(body.output ?? "").match(/[^\n]*\n|[^\n]+$/g) ?? []) {
        let line = open.get(kind);
        if (!line) {
          line = { at, category: kind, text: "", source: sourceOf(body) };
          open.set(kind, line);
          found.push(line);
        }
        line.text += piece.replace(/\r?\n$/, "");
        if (piece.endsWith("\n")) open.delete(kind);
      }
    }
    return found;
  }

  /** Those at which it stopped, and those it printed. */
  exceptions(): Values[] {
    const stops = this.of("stop")
      .filter((one) => "exception" in one.body)
      .map((one) => ({
        at: one.at,
        seen: "stop",
        ...(one.body.exception as object),
        frames: one.body.frames ?? [],
      }));
    return [...stops, ...tracebacks(this.lines())].sort((a, b) => Number(a.at) - Number(b.at));
  }

  /** Of the program itself, if it ended by itself. */
  exitCode(): number | null {
    const ends = this.of("exited", "end").filter((one) => ["", this.id].includes(one.target));
    return (ends.at(-1)?.body.exitCode as number | undefined) ?? null;
  }
}

/** What Python prints of an exception that nobody caught. */
function tracebacks(lines: Line[]): (Values & { at: number })[] {
  const found: (Values & { at: number })[] = [];
  let places: string[] | undefined;
  for (const line of lines) {
    if (line.text.startsWith("Traceback (most recent call last)")) places = [];
    else if (places && line.text.startsWith("  File ")) places.push(line.text.trim());
    else if (places?.length && line.text && !line.text.startsWith(" ")) {
      const [type = "", ...message] = line.text.split(": ");
      found.push({ at: line.at, seen: "output", type, message: message.join(": "), places: places.slice(-5) });
      places = undefined;
    }
  }
  return found;
}

function sourceOf(body: Body): string {
  const path = body.source?.path ?? "";
  return path && body.line !== undefined ? `${path}:${body.line}` : path;
}
