/**
 * Runs the jobs of a workspace: takes them, has them executed, writes what came of them, and clears up.
 *
 * Only jobs count that carry a proof: a host begins with an empty folder, and refuses what somebody puts there who does
 * not have its key. What executes them is given. A job that hangs takes one place of several and nothing else; it is answered in its
 * stead when its time is over.
 */

import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
import { Breaker } from "./circuit_breaker";
import { HostLock } from "./host_lock";
import { list, sweep } from "./job_cleanup";
import * as folders from "./job_files";
import * as alive from "./process_identity";
import * as proofs from "./proofs";
import { type Command, Fault, type HostInfo, type Job, nowText, PING, STOP, type Values, VERSION } from "./protocol";

const HEARTBEAT = 1000;
const LOOK = 500;
const SWEEP = 2000;
const CAPACITY = 10;

/** Milliseconds for a job to end by itself once it knows that nobody wants it. */
const COOPERATION = 250;

/** Milliseconds after which a job is refused that carries no proof: its client may write its files one by one. */
const UNPROVEN = 2000;

export interface Ways {
  run(job: Job): Promise<unknown>;
  /** Resolves when the window answers, and rejects when it does not. */
  checkWindow(): Promise<void>;
  /** The host no longer has its place. */
  left(why: string): void;
  log(text: string): void;
}

export class JobHost {
  readonly info: HostInfo;
  private readonly lock: HostLock;
  private readonly execute: string;
  private readonly running = new Map<string, Running>();
  private readonly settled = new Set<string>();
  private readonly unproven = new Map<string, number>();
  private watcher: fs.FSWatcher | undefined;
  private timers: NodeJS.Timeout[] = [];
  private busy = 0;
  private readonly breaker = new Breaker();
  private isServing = false;

  constructor(
    readonly workspace: string,
    capabilities: Values,
    private readonly ways: Ways,
  ) {
    this.info = {
      bridgeId: `extHost-${randomBytes(4).toString("hex")}`,
      version: VERSION,
      platform: process.platform,
      workspace,
      pid: process.pid,
      startedAt: nowText(),
      wslAware: false,
      kind: "vscode",
      processStart: alive.processStart(process.pid),
      capabilities,
      namespace: alive.namespace(),
    };
    this.lock = new HostLock(workspace, this.info);
    this.execute = folders.executeFolder(workspace);
  }

  /** Takes the place and serves. Throws E_HOST_EXISTS if another host has it. */
  serve(): void {
    this.lock.take();
    this.isServing = true;
    folders.empty(this.execute);
    this.lock.introduce();
    this.watch();
    this.timers = [
      setInterval(() => this.beat(), HEARTBEAT),
      setInterval(() => this.look(), LOOK),
      setInterval(() => sweep(this.workspace, new Set(this.running.keys())), SWEEP),
    ];
    sweep(this.workspace, new Set());
  }

  /** Leaves the place. What runs is told that the host is ending. */
  leave(why = ""): void {
    if (!this.isServing) return;
    this.isServing = false;
    for (const timer of this.timers) clearInterval(timer);
    this.watcher?.close();
    this.lock.leave();
    for (const one of this.running.values()) one.giveUp("ending");
    if (why) this.ways.left(why);
  }

  private beat(): void {
    try {
      if (this.lock.keep()) this.watch();
    } catch (error) {
      this.leave(error instanceof Error ? error.message : String(error));
    }
  }

  private watch(): void {
    this.watcher?.close();
    try {
      this.watcher = fs.watch(this.execute, () => this.look());
      this.watcher.on("error", () => this.watcher?.close());
    } catch {
      // The slow look goes on.
    }
    this.look();
  }

  /** Takes every job that nobody has taken. */
  private look(): void {
    if (!this.isServing) return;
    const names = list(this.execute);
    for (const name of this.settled) if (!names.includes(name)) this.settled.delete(name);
    for (const name of this.unproven.keys()) if (!names.includes(name)) this.unproven.delete(name);
    for (const name of names) {
      if (!this.settled.has(name) && !this.running.has(name)) this.consider(name, path.join(this.execute, name));
    }
    for (const one of this.running.values()) one.look();
  }

  private consider(name: string, folder: string): void {
    const entry = fs.lstatSync(folder, { throwIfNoEntry: false });
    if (!entry?.isDirectory()) {
      if (entry) folders.remove(folder);
      return;
    }
    if (["claimed.json", "done", "cancel"].some((mark) => folders.exists(folder, mark))) {
      this.settled.add(name);
      return;
    }
    const content = folders.readBytes(path.join(folder, "command.json"));
    if (content === undefined) return;
    const found = this.check(name, folder, content);
    if (found === undefined || !folders.claim(folder, this.info)) return;
    const [command, refusal] = found;
    // The directory is what the client waits on, whatever the command calls itself.
    const job = new Running(name, { ...command, id: name }, folder, this.baseOf(command));
    this.running.set(name, job);
    void this.serveJob(job, refusal);
  }

  /** The command of a job, and why it is not run; nothing while its proof may still come. */
  private check(name: string, folder: string, content: Buffer): [Command, Fault?] | undefined {
    const unknown = { version: VERSION, clientId: "", id: name, createdAt: "", scriptName: "", params: {} };
    const proof = folders.readText(path.join(folder, "proof"));
    if (!proofs.matches(proof, proofs.proveCommand(this.lock.key, name, content))) {
      const since = this.unproven.get(name) ?? Date.now();
      this.unproven.set(name, since);
      if (Date.now() - since < UNPROVEN) return undefined;
      const told = "the job carries no proof that it is from a client of this host";
      return [unknown, new Fault("E_UNAUTHORIZED", told, "update the client; docs/bridge.md says how it proves a job")];
    }
    try {
      return [folders.parseCommand(content.toString("utf8"))];
    } catch (error) {
      return [unknown, new Fault("E_INVALID_REQUEST", `command.json cannot be read: ${error}`, "")];
    }
  }

  /** A client may be at home in a directory of the workspace. */
  private baseOf(command: Command): string {
    const given = command.workspace ?? "";
    return given.startsWith(this.workspace.replace(/\/$/, "") + path.sep) ? given : this.workspace;
  }

  private async serveJob(job: Running, refusal?: Fault): Promise<void> {
    const began = performance.now();
    const stop = job.watch();
    const duration = (): number => Math.round((performance.now() - began) * 1000) / 1000;
    try {
      const { key } = this.lock;
      const write = await (refusal ? Promise.reject(refusal) : this.executeJob(job)).then(
        (data) => () => folders.answer(job.folder, job.id, key, data, duration()),
        (error: unknown) => () => folders.fail(job.folder, job.id, key, this.faultOf(job, error), duration()),
      );
      write();
    } catch (error) {
      const isTakenAway = (error as NodeJS.ErrnoException).code === "ENOENT";
      if (!isTakenAway) this.ways.log(`the answer of ${job.command.scriptName} cannot be written: ${error}`);
    } finally {
      stop();
      this.running.delete(job.id);
      this.settled.add(job.id);
      if (!alive.isWanted(job.command)) folders.remove(job.folder);
    }
  }

  private async executeJob(job: Running): Promise<unknown> {
    const script = job.command.scriptName;
    if (script === PING) {
      await this.ways.checkWindow();
      return { bridgeId: this.info.bridgeId, kind: this.info.kind, pid: this.info.pid, running: this.busy };
    }
    if (script === STOP) {
      setTimeout(() => this.leave("a client asked this window to"), 50);
      return { stopping: true };
    }
    if (this.busy >= CAPACITY) {
      throw new Fault("E_CAPACITY", `${CAPACITY} scripts run already`, "call it again in a moment", {}, true);
    }
    this.breaker.check();
    this.busy += 1;
    try {
      return await this.bounded(job);
    } finally {
      this.busy -= 1;
    }
  }

  /** What the script answers, unless it takes too long or nobody wants it any more. */
  private async bounded(job: Running): Promise<unknown> {
    const script = job.command.scriptName;
    const work = this.ways.run(job);
    work.catch(() => {});
    const timer = job.command.timeout ? setTimeout(() => job.giveUp("late"), job.command.timeout) : undefined;
    try {
      const over = await Promise.race([
        work.then(
          () => true,
          () => true,
        ),
        job.givenUp.then(() => false),
      ]);
      if (over) return await work;
      // It may end by itself, and is left behind if it does not.
      const isStuck = await Promise.race([
        work.then(
          () => false,
          () => false,
        ),
        pause(COOPERATION).then(() => true),
      ]);
      if (isStuck) this.breaker.noteFailure();
      switch (job.reason) {
        case "late":
          throw new Fault(
            "E_TIMEOUT",
            `${script} did not end within ${job.command.timeout} ms`,
            "give it a larger timeoutMs, or see with debug_status how things stand",
            {},
            true,
          );
        case "ending":
          throw new Fault("E_HOST_DOWN", "the host is ending", "call it again", {}, true);
        default:
          throw new Fault("E_CANCELLED", `${script} was cancelled by the client`, "");
      }
    } finally {
      clearTimeout(timer);
    }
  }

  private faultOf(job: Running, error: unknown): Fault {
    if (error instanceof Fault) return error;
    this.breaker.noteFailure();
    const told = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    this.ways.log(`${job.command.scriptName} failed: ${error instanceof Error ? (error.stack ?? told) : told}`);
    return new Fault(
      "E_INTERNAL",
      `${job.command.scriptName} failed: ${told}`,
      "the log of Binnacle in the editor says more",
    );
  }
}

type Reason = "cancelled" | "late" | "ending";

/** A job that runs, and whether anybody still wants it. */
class Running implements Job {
  readonly givenUp: Promise<void>;
  reason: Reason | undefined;
  private readonly abort = new AbortController();
  private last = 0;
  private tell: () => void = () => {};

  constructor(
    readonly id: string,
    readonly command: Command,
    readonly folder: string,
    readonly workspace: string,
  ) {
    this.givenUp = new Promise((resolve) => {
      this.tell = resolve;
    });
  }

  get cancelled(): AbortSignal {
    return this.abort.signal;
  }

  giveUp(reason: Reason): void {
    if (this.reason) return;
    this.reason = reason;
    this.abort.abort();
    this.tell();
  }

  /** Looks whether the client has said so, has taken its job away, or is no more. */
  look(): void {
    const isGone = !fs.existsSync(this.folder) || folders.exists(this.folder, "cancel");
    if (isGone || !alive.isWanted(this.command)) this.giveUp("cancelled");
  }

  watch(): () => void {
    let watcher: fs.FSWatcher | undefined;
    try {
      watcher = fs.watch(this.folder, () => this.look());
      watcher.on("error", () => watcher?.close());
    } catch {
      // The host looks now and then.
    }
    this.look();
    return () => watcher?.close();
  }

  progress(pct: number | null, text: string): void {
    this.last += 1;
    const event = { ts: Date.now(), seq: this.last, type: "progress", pct: pct ?? undefined, text };
    try {
      fs.appendFileSync(path.join(this.folder, "events.ndjson"), `${JSON.stringify(event)}\n`, { mode: 0o600 });
    } catch {
      // A client that is gone is told nothing.
    }
  }
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
