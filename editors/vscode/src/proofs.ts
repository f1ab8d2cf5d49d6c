/**
 * What a host and its clients share: a secret, and the proofs made with it.
 *
 * What is in the folder of the bridge may have come with a clone, so nothing in it counts without a proof. The key is in
 * a private file among the data of `bn`, one for each host, never in the repository. `src/binnacle/bridge/jobs/proofs.py` says
 * what is proven and how, and makes the same.
 */

import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
import { dataFolder } from "./debug/session_recorder";
import type { HostInfo } from "./protocol";

const KEY_BYTES = 32;

export type Kind = "response" | "error";

export function newKey(): Buffer {
  return randomBytes(KEY_BYTES);
}

/** Writes the key of a host where its clients find it. */
export function keepKey(workspace: string, bridgeId: string, key: Buffer): void {
  const folder = keysFolder(workspace);
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = path.join(folder, bridgeId);
  fs.rmSync(file, { force: true });
  fs.writeFileSync(file, key.toString("hex"), { flag: "wx", mode: 0o600 });
}

/** The key of a host; undefined if it has none, or one that others may read or change. */
export function readKey(workspace: string, bridgeId: string): Buffer | undefined {
  if (!/^[\p{L}\p{N}_-][\p{L}\p{N}._-]*$/u.test(bridgeId)) return undefined;
  try {
    const file = path.join(keysFolder(workspace), bridgeId);
    const found = fs.lstatSync(file);
    const isOwn = process.getuid === undefined || (found.uid === process.getuid() && (found.mode & 0o077) === 0);
    if (!found.isFile() || !isOwn || found.size > 4 * KEY_BYTES) return undefined;
    const key = Buffer.from(fs.readFileSync(file, "ascii"), "hex");
    return key.length === KEY_BYTES ? key : undefined;
  } catch {
    return undefined;
  }
}

/** Makes everything void that was proven for a host. */
export function removeKey(workspace: string, bridgeId: string): void {
  fs.rmSync(path.join(keysFolder(workspace), bridgeId), { force: true });
}

/** Removes what hosts left that died. Only for the host that has the place. */
export function removeOtherKeys(workspace: string, bridgeId: string): void {
  const folder = keysFolder(workspace);
  for (const name of fs.readdirSync(folder)) {
    if (name !== bridgeId) fs.rmSync(path.join(folder, name), { force: true });
  }
}

export function proveHost(key: Buffer, host: HostInfo): string {
  const { bridgeId, kind, pid, processStart, namespace, workspace } = host;
  return prove(key, ["host", bridgeId, kind, String(pid), String(processStart), namespace, workspace]);
}

/** Whether a host says of itself what it said when it took its place. */
export function isProven(workspace: string, host: HostInfo): boolean {
  const key = readKey(workspace, host.bridgeId);
  return key !== undefined && matches(host.proof, proveHost(key, host));
}

export function proveCommand(key: Buffer, jobId: string, content: string | Buffer): string {
  return prove(key, ["command", jobId, digest(content)]);
}

export function proveAnswer(key: Buffer, kind: Kind, jobId: string, content: string, data = ""): string {
  return prove(key, [kind, jobId, digest(content), digest(data)]);
}

/** Whether a proof is the one that was wanted. */
export function matches(given: string | undefined, wanted: string): boolean {
  const found = Buffer.from(typeof given === "string" ? given.trim() : "");
  const right = Buffer.from(wanted);
  return found.length === right.length && timingSafeEqual(found, right);
}

function keysFolder(workspace: string): string {
  return path.join(dataFolder(workspace), "bridge");
}

function prove(key: Buffer, words: string[]): string {
  return createHmac("sha256", key).update(words.join("\0")).digest("hex");
}

function digest(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}
