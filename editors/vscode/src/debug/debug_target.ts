/** One process under the debugger. Its state follows what its adapter and the editor say to each other. */

import * as fs from "node:fs";
import * as vscode from "vscode";
import type { Values } from "../protocol";
import { exitCodeIn, plainOutput } from "./adapter_dialects";
import { TooLate, within } from "./cancellable_wait";
import { type Bound, placeOf, type Session } from "./debug_session";
import { isDue, mustBeCounted } from "./hit_conditions";

/** What adapters say: theirs to shape. */
export type Body = any;

/** Milliseconds for answers that an adapter has at hand. They come by way of a window that may be busy. */
const PATIENCE = 15_000;

export const ADAPTER_ENDED = "the debug adapter ended";

const RESUMING = ["continue", "next", "stepIn", "stepOut", "reverseContinue", "stepBack", "goto", "restartFrame"];

/** A request that was answered with no. */
export class Refused extends Error {}

/** The session ended before an answer came. */
export class Gone extends Error {}

/** Why and where a program stands still. */
export interface Stop {
  thread: number | undefined;
  reason: string;
  text: string;
  /** Whether an answer has told of it. */
  isTold: boolean;
  /** The adapter's id of the innermost frame, once it is known. */
  frame?: number;
}

export class Target {
  readonly id: string;
  name = "";
  process: number | null = null;
  state: "starting" | "running" | "paused" | "terminated" = "starting";
  stop: Stop | undefined;
  exitCode: number | undefined;
  capabilities: Body = {};
  /** An expression that takes longer than anybody waited. */
  evaluating: string | undefined;
  /** Frame and name of every scope that was asked about since the last stop. */
  readonly scopes = new Map<number, [number, string]>();
  /** By path and line as the editor asked for them. */
  bound = new Map<string, Bound>();
  readonly hit = new Set<string>();
  /** Whether the adapter has said by itself that it is over. */
  hasTerminated = false;
  private readonly asked = new Map<number, Body>();
  private readonly over: Promise<void>;
  private finish: () => void = () => {};

  constructor(
    readonly session: Session,
    readonly dap: vscode.DebugSession,
    private readonly filtersFor: (target: Target, given: string[]) => string[],
    private readonly functionNames: () => string[],
    private readonly changed: () => void,
  ) {
    this.id = session.targets.length ? `${session.id}.${session.targets.length}` : session.id;
    this.name = dap.name;
    this.over = new Promise((resolve) => {
      this.finish = resolve;
    });
    session.targets.push(this);
    session.focus ??= this;
  }

  get adapter(): string {
    return adapterOf(this.dap.type);
  }

  get isRoot(): boolean {
    return this.session.root === this;
  }

  /** Asks the adapter. */
  async ask(command: string, args: Values = {}, milliseconds = PATIENCE): Promise<Body> {
    return await within(this.post(command, args), milliseconds);
  }

  /** Sends a request whose answer may take as long as it likes. */
  async post(command: string, args: Values): Promise<Body> {
    if (this.state === "terminated") throw new Gone(command);
    const answer = Promise.resolve(this.dap.customRequest(command, args)).then(
      (body: Body) => body ?? {},
      (error: unknown) => {
        const text = error instanceof Error ? error.message : String(error);
        const isGone = this.state === "terminated" || /No more messages|disconnected unexpectedly/.test(text);
        throw isGone ? new Gone(command) : new Refused(text);
      },
    );
    const gone = this.over.then(() => {
      throw new Gone(command);
    });
    gone.catch(() => {});
    return await Promise.race([answer, gone]);
  }

  async askScopes(frame: number): Promise<Body[]> {
    const found: Body[] = (await this.ask("scopes", { frameId: frame })).scopes ?? [];
    for (const one of found) this.scopes.set(Number(one.variablesReference), [frame, String(one.name ?? "")]);
    return found;
  }

  /** Lets the program go on. It is running from this moment, whatever the adapter says when. */
  async resume(command: string): Promise<void> {
    const thread = this.stop?.thread;
    this.session.recorder.write(this.id, "command", { command });
    try {
      await this.ask(command, { threadId: thread });
    } catch (error) {
      // It may have gone on all the same, and its next stop is told by an event.
      if (!(error instanceof TooLate)) throw error;
    }
  }

  /** What the editor is about to tell the adapter. */
  hearEditor(message: Body): void {
    if (message.type !== "request") return;
    if (message.command === "configurationDone" && !this.capabilities.supportsFunctionBreakpoints) this.noteFunctions();
    if (["setBreakpoints", "initialize", "launch", "attach", ...RESUMING].includes(message.command)) {
      this.asked.set(message.seq, { ...structuredClone(message), stop: this.stop });
    }
    if (message.command === "setBreakpoints") {
      // Adapters are not told of counts that they would not keep.
      for (const one of message.arguments?.breakpoints ?? []) if (this.counts(one)) delete one.hitCondition;
    }
    if (RESUMING.includes(message.command) && this.stop) this.goOn();
    if (message.command === "setExceptionBreakpoints" && message.arguments) {
      // The editor has no interface for this; here its own choice gives way to that of the agent.
      message.arguments.filters = this.filtersFor(this, message.arguments.filters ?? []);
    }
    const isEnding = message.command === "disconnect" || message.command === "terminate";
    if (isEnding && this.isRoot && !this.hasTerminated && !this.session.isEnding) {
      this.session.how = this.session.how || "it was stopped in the editor";
    }
  }

  /** What the adapter tells the editor. */
  hearAdapter(message: Body): void {
    if (message.type === "response") this.hearAnswer(message);
    else if (message.type === "event") this.hearEvent(String(message.event), message.body ?? {});
    this.session.signal.fire();
  }

  /** The adapter's process has ended. Before the program's end, nobody has said why. */
  loseAdapter(code: number | undefined, signal: string | undefined): void {
    if (!this.isRoot || this.hasTerminated || this.session.isEnding) return;
    const detail = signal ? `, killed by ${signal}` : code === undefined ? "" : ` with exit code ${code}`;
    this.session.end(ADAPTER_ENDED + detail);
  }

  /** The process is no longer debugged. */
  end(): void {
    if (this.state === "terminated") return;
    this.state = "terminated";
    this.stop = undefined;
    this.evaluating = undefined;
    this.forget();
    this.finish();
  }

  private hearAnswer(message: Body): void {
    const asked = this.asked.get(message.request_seq);
    this.asked.delete(message.request_seq);
    if (!asked) return;
    switch (message.command) {
      case "initialize":
        this.capabilities = message.body ?? {};
        break;
      case "setBreakpoints":
        if (message.success) this.bind(asked.arguments ?? {}, message.body?.breakpoints ?? []);
        break;
      case "launch":
      case "attach":
        if (message.success && this.state === "starting") this.state = "running";
        if (message.success && this.isRoot) this.session.isUp = true;
        if (!message.success && this.isRoot) this.session.failure = reasonOf(message);
        break;
      default:
        if (!message.success && this.state === "running" && asked.stop) {
          this.stop = asked.stop;
          this.state = "paused";
        }
    }
  }

  private hearEvent(event: string, body: Body): void {
    this.session.recorder.write(this.id, event, body);
    switch (event) {
      case "output":
        this.wrote(String(body.category || "console"), String(body.output ?? ""));
        break;
      case "stopped":
        void this.consider(body);
        break;
      case "continued":
        if (this.stop) this.goOn();
        break;
      case "capabilities":
        this.capabilities = { ...this.capabilities, ...(body.capabilities ?? {}) };
        break;
      case "process":
        this.name = String(body.name ?? this.name);
        this.process = body.systemProcessId ?? null;
        break;
      case "exited":
        this.exitCode = body.exitCode;
        break;
      case "breakpoint":
        this.rebind(body.breakpoint ?? {});
        break;
      case "terminated":
        this.hasTerminated = true;
        if (this.isRoot && this.session.launch.isSilentOnSuccess) this.exitCode ??= 0;
        if (this.isRoot) this.session.end("");
        else this.end();
        break;
    }
  }

  /** Whether it is us who count the hits of a breakpoint. */
  private counts(wanted: Body): boolean {
    return !this.session.isForeign && mustBeCounted(wanted, this.adapter);
  }

  /** Takes note of a stop, unless it is at a breakpoint whose time has not come. */
  private async consider(body: Body): Promise<void> {
    const isCounted = [...this.bound.values()].some((one) => one.counted);
    if (isCounted && String(body.reason).includes("breakpoint") && (await this.isPassedOver(body))) return;
    this.forget();
    this.stop = {
      thread: body.threadId,
      reason: String(body.reason ?? ""),
      text: String(body.text || body.description || ""),
      isTold: false,
    };
    this.state = "paused";
    this.changed();
    this.session.signal.fire();
  }

  /** Has the program go on if no breakpoint here is due. */
  private async isPassedOver(body: Body): Promise<boolean> {
    try {
      const found = await this.ask("stackTrace", { threadId: body.threadId, startFrame: 0, levels: 1 });
      const top = found.stackFrames?.[0];
      const path = realPath(localPath(String(top?.source?.path ?? "")));
      const met = [...this.bound.values()].filter(
        (one) => one.path === path && (one.boundLine ?? one.line) === top?.line,
      );
      for (const one of met) one.hits += 1;
      if (!met.length || met.some((one) => one.counted === undefined || isDue(one.counted, one.hits))) return false;
      await this.ask("continue", { threadId: body.threadId });
      return true;
    } catch {
      return false; // then it is as well to say that it stands
    }
  }

  private wrote(category: string, text: string): void {
    if (this.isRoot) this.exitCode = exitCodeIn(this.adapter, text) ?? this.exitCode;
    this.session.output.add(category, plainOutput(this.adapter, text));
  }

  private bind(asked: Body, found: Body[]): void {
    const path = realPath(String(asked.source?.path ?? ""));
    const before = this.bound;
    this.bound = new Map([...before].filter(([, one]) => one.path !== path));
    for (const [number, one] of (asked.breakpoints ?? []).entries()) {
      const place = { path, line: Number(one.line) };
      const terms = JSON.stringify([one.condition, one.hitCondition, one.logMessage]);
      const known = before.get(placeOf(place));
      const isSame = known?.terms === terms;
      if (!isSame) this.hit.delete(placeOf(place));
      const counted: string | undefined = this.counts(one) ? one.hitCondition : undefined;
      const about = { isLog: Boolean(one.logMessage), terms, counted, hits: isSame ? known.hits : 0 };
      this.bound.set(placeOf(place), { ...place, ...about, ...boundOf(found[number] ?? {}) });
    }
  }

  private rebind(found: Body): void {
    for (const one of this.bound.values()) {
      if (one.number !== undefined && one.number === found.id) Object.assign(one, boundOf(found));
    }
  }

  private noteFunctions(): void {
    const names = this.functionNames().join(", ");
    if (names) this.session.note(`${this.adapter} has no breakpoints on functions, so there is none on ${names}`);
  }

  private goOn(): void {
    this.stop = undefined;
    this.state = "running";
    this.forget();
  }

  /** What was said about frames and variables holds no longer. */
  private forget(): void {
    this.session.references.forget(this);
    this.scopes.clear();
  }
}

/** What we call the adapters that the editor knows by several names. */
export function adapterOf(type: string): string {
  if (["binnacle-python", "debugpy", "python"].includes(type)) return "debugpy";
  return /^(pwa-)?(node|chrome|msedge|extensionHost|node-terminal)/.test(type) ? "js-debug" : type;
}

/** A path on this machine, of one that the editor made an address of. */
export function localPath(file: string): string {
  return /^[\w-]+:\/\//.test(file) ? vscode.Uri.parse(file).fsPath : file;
}

export function realPath(path: string): string {
  try {
    return fs.realpathSync(path);
  } catch {
    return path;
  }
}

function boundOf(found: Body): Pick<Bound, "verified" | "boundLine" | "message" | "number"> {
  return {
    verified: Boolean(found.verified),
    boundLine: found.line,
    message: String(found.message ?? ""),
    number: found.id,
  };
}

function reasonOf(message: Body): string {
  let text = String(message.body?.error?.format || message.message || "the adapter gave no reason");
  for (const [name, value] of Object.entries(message.body?.error?.variables ?? {})) {
    text = text.replaceAll(`{${name}}`, String(value));
  }
  return text;
}
