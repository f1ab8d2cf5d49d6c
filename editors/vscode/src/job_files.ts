/** What clients and hosts do with the files of `.vsc-bridge`. Nothing here waits or watches. */

import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
import * as proofs from "./proofs";
import { type Command, Fault, FOLDER, type HostInfo, nowText } from "./protocol";

/** Bytes from which an answer is put into a file of its own. */
const LARGE = 2 * 1024 * 1024;

/** What is in the folder besides jobs. */
const FILES = [".gitignore", "host.json", "host.lock", "host.log", "host.log.1", "starting.lock"];

export function bridgeFolder(workspace: string): string {
  return path.join(workspace, FOLDER);
}

export function executeFolder(workspace: string): string {
  return path.join(workspace, FOLDER, "execute");
}

/** Makes the directory of the protocol where it is not there yet; git ignores it, and nobody else may enter. */
export function openBridge(workspace: string): string {
  const folder = bridgeFolder(workspace);
  for (const one of [folder, path.join(folder, "prepared"), executeFolder(workspace)]) {
    if (!fs.lstatSync(one, { throwIfNoEntry: false })) fs.mkdirSync(one, { mode: 0o700 });
    makePrivate(one);
  }
  for (const name of FILES) {
    const found = fs.lstatSync(path.join(folder, name), { throwIfNoEntry: false });
    if (found && !found.isFile()) remove(path.join(folder, name));
  }
  if (!exists(folder, ".gitignore")) writeWhole(path.join(folder, ".gitignore"), "*\n");
  return folder;
}

/** Closes a folder of ours to others. One that is not ours alone may hold anything by anybody. */
function makePrivate(folder: string): void {
  const found = fs.lstatSync(folder);
  const isOthers = process.getuid !== undefined && found.uid !== process.getuid();
  let problem = "";
  if (found.isSymbolicLink()) problem = "it is a link";
  else if (!found.isDirectory()) problem = "it is no folder";
  else if (isOthers) problem = "it belongs to somebody else";
  else if (process.getuid !== undefined && found.mode & 0o002) problem = "others may write to it";
  if (problem) {
    throw new Fault(
      "E_FS_ERROR",
      `${folder} is not used: ${problem}`,
      "remove it: the next call makes a folder that is private",
    );
  }
  if (found.mode & 0o077) fs.chmodSync(folder, 0o700);
}

/** Takes away all jobs, whoever put them there. */
export function empty(folder: string): void {
  for (const name of fs.readdirSync(folder)) remove(path.join(folder, name));
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

/** The text of a plain file, and not of what a link leads to. */
export function readText(file: string): string | undefined {
  return readBytes(file)?.toString("utf8");
}

export function readBytes(file: string): Buffer | undefined {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants;
  let descriptor: number | undefined;
  try {
    descriptor = fs.openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    return fs.fstatSync(descriptor).isFile() ? fs.readFileSync(descriptor) : undefined;
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
}

export function exists(folder: string, mark: string): boolean {
  return fs.lstatSync(path.join(folder, mark), { throwIfNoEntry: false }) !== undefined;
}

/** The command of a job; undefined while it is not there yet. Throws if it is none. */
export function readCommand(folder: string): Command | undefined {
  const written = readText(path.join(folder, "command.json"));
  return written ? parseCommand(written) : undefined;
}

export function parseCommand(written: string): Command {
  const found: unknown = JSON.parse(written);
  if (typeof found !== "object" || found === null || typeof (found as Command).scriptName !== "string") {
    throw new SyntaxError("no scriptName in it");
  }
  return { ...(found as Command), params: (found as Command).params ?? {} };
}

/** The host that introduced itself last; undefined if no proof says that it is one of ours. */
export function readHost(workspace: string): HostInfo | undefined {
  const host = parseHost(readText(path.join(bridgeFolder(workspace), "host.json")));
  return host && proofs.isProven(workspace, host) ? host : undefined;
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
export function answer(folder: string, id: string, key: Buffer, data: unknown, duration: number): void {
  const encoded = JSON.stringify(data ?? null);
  const meta = metaOf(id, duration);
  if (Buffer.byteLength(encoded) > LARGE) {
    writeWhole(path.join(folder, "data.json"), encoded);
    const told = { ok: true, type: "success", dataRef: "data.json", meta };
    finish(folder, id, key, "response", JSON.stringify(told), encoded);
  } else {
    const head = JSON.stringify({ ok: true, type: "success", meta }).slice(0, -1);
    finish(folder, id, key, "response", `${head},"data":${encoded}}`);
  }
}

/** Writes why a job came to nothing, and that it is done. */
export function fail(folder: string, id: string, key: Buffer, fault: Fault, duration: number): void {
  const error = {
    code: fault.code,
    message: fault.message,
    hint: fault.hint || undefined,
    retryable: fault.retryable || undefined,
    details: Object.keys(fault.details).length ? fault.details : undefined,
  };
  const told = { ok: false, type: "error", error, meta: metaOf(id, duration) };
  finish(folder, id, key, "error", JSON.stringify(told));
}

export function remove(folder: string): void {
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 2 });
}

/** Writes the answer, and the mark that comes last: the proof of it. */
function finish(folder: string, id: string, key: Buffer, kind: proofs.Kind, content: string, data = ""): void {
  writeWhole(path.join(folder, `${kind}.json`), content);
  writeWhole(path.join(folder, "done"), proofs.proveAnswer(key, kind, id, content, data));
}

function metaOf(requestId: string, duration: number): object {
  return { requestId, mode: "normal", timestamp: nowText(), duration };
}
