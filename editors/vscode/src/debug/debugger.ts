/** The programs that are debugged in this window, whoever started them, and how agents name them. */

import * as vscode from "vscode";
import type { HostHealth } from "../host_health";
import { Fault, type Job } from "../protocol";
import { Cancelled, TooLate, within } from "./cancellable_wait";
import * as faults from "./debug_errors";
import { type Launch, Session } from "./debug_session";
import { ADAPTER_ENDED, adapterOf, type Body, Target } from "./debug_target";
import { adapterPython, OWN_TYPE } from "./python";
import { References } from "./reference_ids";
import { Recorder, recordings } from "./session_recorder";

export type Script = (debug: Debugger, params: Body, job: Job) => Promise<unknown>;

/** What marks a configuration as ours, so that the editor's session is known when it begins. */
const MARK = "__binnacle";
const LAUNCH_PATIENCE = 60_000;
const LIVE = 8;
const REMEMBERED = 20;
const EXCEPTIONS = "binnacle.exceptions";

export class Debugger implements vscode.Disposable {
  readonly references = new References();
  readonly sessions = new Map<string, Session>();
  /** The one that was told about last. */
  current: Session | undefined;
  private readonly targets = new Map<string, Target>();
  private readonly owned: vscode.Disposable[];
  private readonly changes = new vscode.EventEmitter<void>();
  readonly onChange = this.changes.event;

  constructor(
    private readonly memory: vscode.Memento,
    private readonly adapter: string,
    readonly health: HostHealth,
  ) {
    this.owned = [
      this.changes,
      vscode.debug.registerDebugAdapterTrackerFactory("*", { createDebugAdapterTracker: (dap) => this.track(dap) }),
      vscode.debug.registerDebugAdapterDescriptorFactory(OWN_TYPE, {
        createDebugAdapterDescriptor: (dap) => this.describe(dap),
      }),
      vscode.debug.onDidTerminateDebugSession((dap) => this.forget(dap)),
    ];
  }

  dispose(): void {
    for (const one of this.owned) one.dispose();
    for (const one of this.live()) one.end("the editor was closed");
  }

  /** Filters of exceptions that an agent chose; undefined for what adapters do by default. */
  get exceptions(): string[] | undefined {
    return this.memory.get<string[]>(EXCEPTIONS);
  }

  async setExceptions(filters: string[] | undefined): Promise<void> {
    await this.memory.update(EXCEPTIONS, filters);
    for (const target of this.liveTargets()) {
      if (target.capabilities.exceptionBreakpointFilters?.length) {
        await target.ask("setExceptionBreakpoints", { filters: [] });
      }
    }
  }

  live(): Session[] {
    return [...this.sessions.values()].filter((one) => !one.isOver);
  }

  liveTargets(): Target[] {
    return this.live().flatMap((one) => one.live());
  }

  /** A session that is yet to begin. */
  newSession(launch: Launch, workspace: string, isForeign = false): Session {
    const live = this.live();
    if (!isForeign && live.length >= LIVE) {
      const ids = live.map((one) => one.id).join(", ");
      throw new Fault("E_CAPACITY", `${LIVE} programs are being debugged: ${ids}`, "end one with debug_stop");
    }
    const about = { title: launch.title, adapter: launch.adapter, request: launch.request, workspace };
    const session = new Session(
      launch,
      workspace,
      this.references,
      new Recorder(recordings(workspace), about),
      isForeign,
    );
    const over = [...this.sessions.values()].filter((one) => one.isOver && (one.isTold || one.isForeign));
    for (const old of over.slice(0, -REMEMBERED)) this.sessions.delete(old.id);
    this.sessions.set(session.id, session);
    return session;
  }

  /** Has the editor start a session. Returns when it is under the debugger, or over. */
  async launch(session: Session, job: Job): Promise<void> {
    const { launch } = session;
    const configuration = { ...launch.configuration, [MARK]: session.id };
    let hasStarted: boolean | undefined;
    const noted = (found: boolean, failure?: string): void => {
      hasStarted = found;
      if (!found) session.failure ??= failure ?? "the editor did not start it; its log says why";
      session.signal.fire();
    };
    vscode.debug.startDebugging(launch.folder, configuration, { suppressDebugView: true }).then(
      (found) => noted(found),
      (error: unknown) => noted(false, error instanceof Error ? error.message : String(error)),
    );
    const find = (): true | undefined =>
      (hasStarted !== undefined || session.failure !== undefined || session.isOver || undefined) && true;
    try {
      await session.signal.until(find, LAUNCH_PATIENCE, job.cancelled);
    } catch (error) {
      void this.end(session, "its start was given up");
      if (error instanceof Cancelled) {
        throw new Fault("E_CANCELLED", "the start was cancelled; nothing is left of it", "call debug_start again");
      }
      session.failure = error instanceof TooLate ? `no answer within ${LAUNCH_PATIENCE / 1000} s` : String(error);
    }
    if (session.isOver && !session.isUp) {
      const how = session.how || "it ended before it began";
      session.failure ??= session.exitCode === null ? how : `${how}, with exit code ${session.exitCode}`;
    }
    if (session.failure === undefined) return;
    session.end(session.failure);
    throw new Fault(
      "E_LAUNCH_FAILED",
      `cannot debug ${launch.title}: ${session.failure.trim()}`,
      launch.advice || "check the launch configuration, then call debug_start again",
      session.output.take(),
    );
  }

  /** Ends a program that was launched, and lets go of one that was attached to. */
  async end(session: Session, how: string): Promise<void> {
    if (session.isOver) return;
    session.isEnding = true;
    session.how = session.how || how;
    const dap = session.root?.dap;
    try {
      if (dap) await within(Promise.resolve(vscode.debug.stopDebugging(dap)), 5000);
      await session.signal.until(() => session.isOver || undefined, 5000);
    } catch {
      session.end(how);
    }
  }

  /** Ends the programs of agents without the editor's help, which would need a window. */
  abandon(): void {
    for (const session of this.live()) {
      if (session.isForeign || session.launch.request === "attach") continue;
      for (const { process: pid } of session.targets) {
        try {
          if (pid) process.kill(pid, "SIGKILL");
        } catch {
          // It has ended.
        }
      }
      session.end("the window of the editor was closed");
    }
  }

  /** The session of that id or of a process in it; the one told about last, or the newest that is left. */
  session(ident?: string): Session {
    if (ident !== undefined) {
      const session = this.sessions.get(ident.split(".", 1)[0] ?? "");
      if (!session || (ident !== session.id && !session.find(ident))) {
        const known = this.live().map((one) => one.id);
        throw faults.noSession(`no debug session has the id ${ident}`, { sessions: known });
      }
      if (session.isOver) throw faults.noSession(epitaph(session));
      return session;
    }
    if (this.current && !this.current.isOver) return this.current;
    const newest = this.live().at(-1);
    if (newest) return newest;
    throw faults.noSession(this.current ? epitaph(this.current) : undefined);
  }

  /** The process that stands still in a session. */
  target(ident?: string): Target {
    const target = this.standing(ident);
    if (!target) throw faults.notPaused(ident ?? this.session(ident).id);
    checkIdle(target);
    return target;
  }

  /** The process that stands still: the one that is named, or any of a session, the one told about last first. */
  standing(ident?: string): Target | undefined {
    const session = this.session(ident);
    const named = ident !== undefined && ident !== session.id ? session.find(ident) : undefined;
    const choices = named ? [named] : [session.focus, ...session.targets];
    return choices.find((one) => one?.state === "paused");
  }

  /** The process a frame belongs to, and the adapter's id of it; without one, the process that stands still. */
  frame(reference?: number, ident?: string): [Target, number | undefined] {
    if (reference === undefined || reference === null) return [this.target(ident), undefined];
    const [target, number] = this.references.take("frame", reference);
    checkIdle(target);
    return [target, number];
  }

  /** What to say when a program ended over a call that did not wait for that. */
  async gone(): Promise<Fault> {
    const session = this.current;
    if (!session) return faults.noSession();
    await session.signal.until(() => session.isOver || undefined, 2000).catch(() => {});
    session.isTold = session.isOver;
    const how = session.how || `the program ended with exit code ${session.exitCode}`;
    return faults.lost(session.id, how, session.output.take());
  }

  private track(dap: vscode.DebugSession): vscode.DebugAdapterTracker {
    const filters = (one: Target, given: string[]): string[] => this.filters(one, given);
    const target = new Target(this.sessionOf(dap), dap, filters, functionNames, () => this.changes.fire());
    this.targets.set(dap.id, target);
    this.changes.fire();
    return {
      onWillReceiveMessage: (message: Body) => target.hearEditor(message),
      onDidSendMessage: (message: Body) => {
        const before = target.state;
        target.hearAdapter(message);
        if (target.state !== before) this.changes.fire();
      },
      onExit: (code, signal) => target.loseAdapter(code, signal),
    };
  }

  /** The session that the editor's belongs to; a new one if a person started it. */
  private sessionOf(dap: vscode.DebugSession): Session {
    let root = dap;
    while (root.parentSession) root = root.parentSession;
    const known = this.targets.get(root.id);
    if (known && !known.session.isOver) return known.session;
    const marked = this.sessions.get(String(root.configuration[MARK] ?? ""));
    if (marked && !marked.root && !marked.isOver) return marked;
    const workspace = root.workspaceFolder?.uri.fsPath ?? vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "/";
    const { [MARK]: _, ...configuration } = root.configuration;
    const request = String(configuration.request);
    const launch = {
      title: root.name,
      adapter: adapterOf(root.type),
      request,
      advice: "",
      isSilentOnSuccess: false,
    };
    const session = this.newSession({ ...launch, configuration, folder: root.workspaceFolder }, workspace, true);
    session.isUp = true;
    return session;
  }

  private forget(dap: vscode.DebugSession): void {
    const target = this.targets.get(dap.id);
    this.targets.delete(dap.id);
    if (!target) return;
    const { session } = target;
    if (target.isRoot) session.end(session.isEnding || target.hasTerminated ? "" : ADAPTER_ENDED);
    else target.end();
    session.signal.fire();
    this.changes.fire();
  }

  /** Which exceptions a program stops at. */
  private filters(target: Target, given: string[]): string[] {
    const { isForeign } = target.session;
    if (isForeign && this.exceptions === undefined) return given;
    const offered: string[] = (target.capabilities.exceptionBreakpointFilters ?? []).map((one: Body) => one.filter);
    const defaults: string[] = (target.capabilities.exceptionBreakpointFilters ?? [])
      .filter((one: Body) => one.default)
      .map((one: Body) => one.filter);
    const wanted = this.exceptions ?? defaults;
    return offered.filter((one) => wanted.includes(one));
  }

  /** Our own way to debugpy: its adapter without two of its waits, or the program that has one itself. */
  private describe(dap: vscode.DebugSession): vscode.DebugAdapterDescriptor {
    const { connect, cwd } = dap.configuration;
    if (connect?.port) return new vscode.DebugAdapterServer(Number(connect.port), String(connect.host ?? "127.0.0.1"));
    const folder = String(cwd ?? dap.workspaceFolder?.uri.fsPath ?? ".");
    return new vscode.DebugAdapterExecutable(adapterPython(folder), [this.adapter]);
  }
}

/** A program that still evaluates something answers nothing else. */
function checkIdle(target: Target): void {
  if (target.evaluating !== undefined) throw faults.busy(target.id, target.evaluating);
}

function functionNames(): string[] {
  const found = vscode.debug.breakpoints.filter((one) => one instanceof vscode.FunctionBreakpoint);
  return found.map((one) => one.functionName);
}

function epitaph(session: Session): string {
  const how = session.how || `ended with exit code ${session.exitCode}`;
  return `no active debug session: session ${session.id} (${session.launch.title}) is over, ${how}`;
}
