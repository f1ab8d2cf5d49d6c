/** Writes sessions down where the host without an editor does: a line of JSON for each event, by numbers. */

import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import type { Values } from "../protocol";

const FILE_LIMIT = 4 * 1024 * 1024;

/** Beyond the limit the end is still written: how it ended matters more than what it said. */
const LAST_LIMIT = FILE_LIMIT + 64 * 1024;
const KEPT = 20;
const TEXT_LIMIT = 4000;
const UNRECORDED = ["module", "loadedSource", "debugpySockets", "debugpyWaitingForServer", "capabilities", "memory"];
const ENDINGS = ["exited", "terminated", "end", "stop"];

export interface Entry {
  at: number;
  target: string;
  type: string;
  body: Values;
}

export class Recorder {
  readonly id: string;
  count = 0;
  private size = 0;
  private descriptor: number | undefined;

  constructor(folder: string, about: Values) {
    [this.id, this.descriptor] = create(folder);
    this.write("", "session", about);
  }

  write(target: string, type: string, body: Values): void {
    if (UNRECORDED.includes(type) || (type === "output" && body.category === "telemetry")) return;
    this.count += 1;
    if (this.descriptor === undefined || this.size > LAST_LIMIT) return;
    if (this.size > FILE_LIMIT && !ENDINGS.includes(type)) return;
    const entry = { at: Math.round(Date.now()) / 1000, target, type, body: cut(body) };
    try {
      this.size += fs.writeSync(this.descriptor, `${JSON.stringify(entry)}\n`);
    } catch {
      // A recording is not worth failing for.
    }
  }

  close(): void {
    if (this.descriptor !== undefined) fs.closeSync(this.descriptor);
    this.descriptor = undefined;
  }
}

/** Where a workspace's recordings are. */
export function recordings(workspace: string): string {
  return path.join(dataFolder(workspace), "debug", "sessions");
}

/** Where `bn` keeps data that belongs to the path of a workspace. */
export function dataFolder(workspace: string): string {
  const home = process.env.XDG_DATA_HOME || path.join(os.homedir(), ".local", "share");
  const base = path.resolve(process.env.BN_DATA_DIR || path.join(home, "binnacle"));
  return path.join(base, projectKey(workspace));
}

/** The recordings there are, oldest first. */
export function numbers(folder: string): number[] {
  try {
    const names = fs.readdirSync(folder).map((name) => /^(\d+)\.jsonl$/.exec(name)?.[1]);
    return names
      .filter((name) => name !== undefined)
      .map(Number)
      .sort((a, b) => a - b);
  } catch {
    return [];
  }
}

/** The entries of a recording. A line that was cut off by a crash is left out. */
export function read(folder: string, number: number): Entry[] {
  return fs.readFileSync(fileOf(folder, number), "utf8").split("\n").flatMap(parse);
}

function parse(line: string): Entry[] {
  try {
    return [JSON.parse(line) as Entry];
  } catch {
    return [];
  }
}

function fileOf(folder: string, number: number): string {
  return path.join(folder, `${number}.jsonl`);
}

/** A new recording, and room for it. Without a place to write to, sessions are numbered by time. */
function create(folder: string): [string, number | undefined] {
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    const found = numbers(folder);
    for (const old of found.slice(0, Math.max(0, found.length + 1 - KEPT))) fs.rmSync(fileOf(folder, old));
    for (let number = (found.at(-1) ?? 0) + 1; ; number += 1) {
      try {
        return [String(number), fs.openSync(fileOf(folder, number), "ax", 0o600)];
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
    }
  } catch {
    return [String(Date.now()), undefined];
  }
}

function cut(value: unknown): unknown {
  if (typeof value === "string") {
    return value.length <= TEXT_LIMIT ? value : `${value.slice(0, TEXT_LIMIT)}… (${value.length} characters)`;
  }
  if (Array.isArray(value)) return value.slice(0, 100).map(cut);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, cut(one)]));
  }
  return value;
}

/** The name of a project's data directory: readable, and distinct for every path. */
export function projectKey(workspace: string): string {
  const kept = [...path.basename(workspace)].map((one) => (/[\p{L}\p{N}._-]/u.test(one) ? one : "-")).join("");
  const name = [...kept.replace(/^[.-]+|[.-]+$/g, "")].slice(0, 40).join("");
  const bytes = Buffer.from(workspace);
  const hex = (number: number): string => number.toString(16).padStart(8, "0");
  return `${name || "root"}-${hex(crc32(bytes))}${hex(adler32(Buffer.from(bytes).reverse()))}`;
}

function crc32(bytes: Buffer): number {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return (sum ^ 0xffffffff) >>> 0;
}

function adler32(bytes: Buffer): number {
  let low = 1;
  let high = 0;
  for (const byte of bytes) {
    low = (low + byte) % 65521;
    high = (high + low) % 65521;
  }
  return ((high << 16) | low) >>> 0;
}
