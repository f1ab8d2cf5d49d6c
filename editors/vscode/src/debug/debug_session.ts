/** A program under the debugger: its processes, what it wrote, and how it ended. */

import type * as vscode from "vscode";
import type { Values } from "../protocol";
import { Signal } from "./cancellable_wait";
import type { Target } from "./debug_target";
import { Output } from "./program_output";
import type { References } from "./reference_ids";
import type { Recorder } from "./session_recorder";

/** What became of a breakpoint in one process. */
export interface Bound {
  path: string;
  line: number;
  isLog: boolean;
  /** What was asked for there. */
  terms: string;
  /** Which hits stop, if we are the ones who count. */
  counted: string | undefined;
  hits: number;
  verified: boolean;
  boundLine: number | undefined;
  message: string;
  number: number | undefined;
}

/** Something to debug. */
export interface Launch {
  title: string;
  adapter: string;
  request: string;
  configuration: vscode.DebugConfiguration;
  folder: vscode.WorkspaceFolder | undefined;
  /** Exceptions to stop at, besides those of the workspace. */
  /** What to do if it fails. */
  advice: string;
  /** Whether the adapter tells of every exit code but 0. */
  isSilentOnSuccess: boolean;
}

export class Session {
  readonly targets: Target[] = [];
  readonly output = new Output();
  readonly signal = new Signal();
  focus: Target | undefined;
  /** How it ended, if not by itself. */
  how = "";
  /** Whether an answer has told of its end. */
  isTold = false;
  isOver = false;
  /** Whether we have asked for its end. */
  isEnding = false;
  /** What is told once. */
  private notes: string[] = [];
  /** Whether it was ever under the debugger. */
  isUp = false;
  /** Why it could not be launched. */
  failure: string | undefined;

  constructor(
    readonly launch: Launch,
    readonly workspace: string,
    readonly references: References,
    readonly recorder: Recorder,
    /** Whether a person started it. */
    readonly isForeign: boolean,
  ) {}

  get id(): string {
    return this.recorder.id;
  }

  get root(): Target | undefined {
    return this.targets[0];
  }

  get exitCode(): number | null {
    return this.targets.find((one) => one.exitCode !== undefined)?.exitCode ?? null;
  }

  note(text: string): void {
    if (!this.notes.includes(text)) this.notes.push(text);
  }

  takeNotes(): Values {
    const notes = this.notes.splice(0);
    return notes.length ? { notes } : {};
  }

  find(ident: string): Target | undefined {
    return this.targets.find((one) => one.id === ident);
  }

  live(): Target[] {
    return this.targets.filter((one) => one.state !== "terminated");
  }

  /** A process that stands still and of which nobody was told. */
  untold(): Target | undefined {
    return this.targets.find((one) => one.stop && !one.stop.isTold);
  }

  /** Breakpoints that no process of this session could place. */
  unbound(): Bound[] {
    const placed = new Set(
      this.bound()
        .filter((one) => one.verified)
        .map(placeOf),
    );
    return distinct(this.bound().filter((one) => !placed.has(placeOf(one))));
  }

  /** Breakpoints that were placed and at which nothing stopped. */
  notHit(): Bound[] {
    const hit = new Set(this.targets.flatMap((one) => [...one.hit]));
    return distinct(this.bound().filter((one) => one.verified && !one.isLog && !hit.has(placeOf(one))));
  }

  end(how: string): void {
    if (this.isOver) return;
    this.isOver = true;
    this.how = this.how || how;
    for (const one of this.targets) one.end();
    this.recorder.write(this.id, "end", { exitCode: this.exitCode, how: this.how });
    this.recorder.close();
    this.signal.fire();
  }

  private bound(): Bound[] {
    return this.targets.flatMap((one) => [...one.bound.values()]);
  }
}

export function placeOf(one: { path: string; line: number }): string {
  return `${one.path}:${one.line}`;
}

function distinct(found: Bound[]): Bound[] {
  const known = new Map(found.map((one) => [placeOf(one), one]));
  return [...known.values()].sort((a, b) => a.path.localeCompare(b.path) || a.line - b.line);
}
