/** What clients and hosts do with the files of `.vsc-bridge`. Nothing here waits or watches. */

import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
import { type Command, type Fault, FOLDER, type HostInfo, nowText } from "./protocol";

/** Bytes from which an answer is put into a file of its own. */
const LARGE = 2 * 1024 * 1024;

export function bridgeFolder(workspace: string): string {
  return path.join(workspace, FOLDER);
}

export function executeFolder(workspace: string): string {
  return path.join(workspace, FOLDER, "execute");
}

/** Makes the directory of the protocol where it is not there yet; git ignores it. */
export function openBridge(workspace: string): string {
  const folder = bridgeFolder(workspace);
  for (const name of ["prepared", "execute"]) {
    fs.mkdirSync(path.join(folder, name), { recursive: true, mode: 0o700 });
  }
  const ignored = path.join(folder, ".gitignore");
  if (!fs.existsSync(ignored)) writeWhole(ignored, "*\n");
  return folder;
}

/** Writes a file that nobody ever sees half of. */
export function writeWhole(file: string, content: string, mode = 0o600): void {
  const folder = path.dirname(file);
  const temporary = path.join(folder, `.${path.basename(file)}.${process.pid}.${randomBytes(4).toString("hex")}`);
  try {
    fs.writeFileSync(temporary, content, { mode, flag: "wx" });
    fs.renameSync(temporary, file);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

export function readText(file: string): string | undefined {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

export function exists(folder: string, mark: string): boolean {
  return fs.lstatSync(path.join(folder, mark), { throwIfNoEntry: false }) !== undefined;
}

/** The command of a job; undefined while it is not there yet. Throws if it is none. */
export function readCommand(folder: string): Command | undefined {
  const written = readText(path.join(folder, "command.json"));
  if (!written) return undefined;
  const found: unknown = JSON.parse(written);
  if (typeof found !== "object" || found === null || typeof (found as Command).scriptName !== "string") {
    throw new SyntaxError("no scriptName in it");
  }
  return { ...(found as Command), params: (found as Command).params ?? {} };
}

export function readHost(workspace: string): HostInfo | undefined {
  return parseHost(readText(path.join(bridgeFolder(workspace), "host.json")));
}

export function parseHost(written: string | undefined): HostInfo | undefined {
  try {
    const found = JSON.parse(written ?? "") as Partial<HostInfo>;
    const otherwise = { processStart: 0, namespace: "", kind: "vscode", capabilities: {}, pid: 0 };
    return typeof found.bridgeId === "string" ? ({ ...otherwise, ...found } as HostInfo) : undefined;
  } catch {
    return undefined;
  }
}

/** Takes a job, unless somebody has taken it, or taken it away. */
export function claim(folder: string, host: HostInfo): boolean {
  const claimed = { bridgeId: host.bridgeId, claimedAt: nowText(), pid: host.pid };
  try {
    fs.writeFileSync(path.join(folder, "claimed.json"), JSON.stringify(claimed), { flag: "wx", mode: 0o600 });
    return true;
  } catch {
    return false;
  }
}

/** Writes what came of a job, and that it is done. */
export function answer(folder: string, id: string, data: unknown, duration: number): void {
  const encoded = JSON.stringify(data ?? null);
  const meta = metaOf(id, duration);
  if (Buffer.byteLength(encoded) > LARGE) {
    writeWhole(path.join(folder, "data.json"), encoded);
    const told = { ok: true, type: "success", dataRef: "data.json", meta };
    writeWhole(path.join(folder, "response.json"), JSON.stringify(told));
  } else {
    const head = JSON.stringify({ ok: true, type: "success", meta }).slice(0, -1);
    writeWhole(path.join(folder, "response.json"), `${head},"data":${encoded}}`);
  }
  finish(folder);
}

/** Writes why a job came to nothing, and that it is done. */
export function fail(folder: string, id: string, fault: Fault, duration: number): void {
  const error = {
    code: fault.code,
    message: fault.message,
    hint: fault.hint || undefined,
    retryable: fault.retryable || undefined,
    details: Object.keys(fault.details).length ? fault.details : undefined,
  };
  const told = { ok: false, type: "error", error, meta: metaOf(id, duration) };
  writeWhole(path.join(folder, "error.json"), JSON.stringify(told));
  finish(folder);
}

export function remove(folder: string): void {
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 2 });
}

function finish(folder: string): void {
  fs.closeSync(fs.openSync(path.join(folder, "done"), "w", 0o600));
}

function metaOf(requestId: string, duration: number): object {
  return { requestId, mode: "normal", timestamp: nowText(), duration };
}
