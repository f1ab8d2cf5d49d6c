/** The script that writes a large variable to a file, a line of JSON for each of its members. */

import * as fs from "node:fs";
import * as path from "node:path";
import { writeWhole } from "../job_files";
import { Fault, type Job, type Values } from "../protocol";
import { gist } from "./adapter_dialects";
import { quoted } from "./debug_errors";
import { type Body, Refused, type Target } from "./debug_target";
import type { Debugger, Script } from "./debugger";
import { askValue } from "./inspection";
import { shownPath } from "./stop_report";
import { fetch } from "./variable_tree";

/** Milliseconds that the program may take to spell the variable. */
const PATIENCE = 25_000;
const MOST = 1_000_000;

// debugpy lists only the first of many members, so the program itself spells them all, in one expression that leaves
// nothing behind. As base64, because nothing in that needs to be escaped.
const SPELL = [
  "(lambda v, n, j, i, b: (lambda m: None if m is None else b.b64encode(j.dumps([[*(",
  "[repr(k), type(x).__name__, x] for k, x in i.islice(m, n))], len(v) if hasattr(v, '__len__') else None",
  "], default=repr, skipkeys=True).encode()).decode())(",
  "None if isinstance(v, (str, bytes, bytearray, int, float, complex, type(None)))",
  "else v.items() if hasattr(v, 'items') and hasattr(v, 'keys')",
  "else enumerate(v) if hasattr(v, '__len__') and hasattr(v, '__iter__')",
  "else vars(v).items() if hasattr(v, '__dict__') else None)",
  ")((EXPRESSION), LIMIT, __import__('json'), __import__('itertools'), __import__('base64'))",
].join(" ");

type Spelt = { lines: string[]; total: number | null };

async function save(debug: Debugger, params: Body, job: Job): Promise<Values> {
  const [target, frame] = debug.frame(params.frameId, params.sessionId);
  const file = path.resolve(job.workspace, params.outputPath);
  if (fs.statSync(file, { throwIfNoEntry: false })?.isDirectory()) {
    throw new Fault("E_INVALID_PATH", `is a directory: ${file}`, "give outputPath, a file's name");
  }
  const limit = Math.min(params.maxItems || MOST, MOST);
  let spelt: Spelt;
  try {
    const spell = target.adapter === "debugpy" ? spellPython : spellPages;
    spelt = await spell(target, frame, params, limit, job);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    throw new Fault(
      "E_EVALUATE_FAILED",
      `${quoted(params.expression)}: ${gist(error.message)}`,
      "debug_list_variables shows what can be named here",
    );
  }
  write(file, spelt.lines);
  const more = spelt.total !== null && spelt.total > spelt.lines.length;
  return {
    sessionId: target.id,
    path: shownPath(file, job.workspace),
    items: spelt.lines.length,
    ...(more ? { more: `${spelt.total} in all; call with a larger maxItems, or save a slice` } : {}),
  };
}

async function spellPython(
  target: Target,
  frame: number | undefined,
  params: Body,
  limit: number,
  job: Job,
): Promise<Spelt> {
  const program = SPELL.replace("LIMIT", String(limit)).replace("EXPRESSION", () => params.expression);
  // In this context alone debugpy gives a text whole, and an error as a value.
  const found = await askValue(target, frame, program, "clipboard", PATIENCE, job);
  if (found.type === "NoneType") throw notExpandable(params.expression);
  if (found.type !== "str") throw new Refused(String(found.result));
  const text = Buffer.from(String(found.result).slice(1, -1), "base64").toString();
  const [members, total] = JSON.parse(text) as [[string, string, unknown][], number | null];
  return { lines: members.map(([name, type, value]) => JSON.stringify({ name, type, value })), total };
}

async function spellPages(
  target: Target,
  frame: number | undefined,
  params: Body,
  limit: number,
  job: Job,
): Promise<Spelt> {
  const found = await askValue(target, frame, params.expression, params.context ?? "watch", PATIENCE, job);
  const reference = Number(found.variablesReference ?? 0);
  if (!reference) throw notExpandable(params.expression);
  const total = Number(found.indexedVariables ?? 0);
  if (!total) {
    const members = await fetch(target, reference);
    return { lines: members.slice(0, limit).map(lineOf), total: members.length };
  }
  const lines: string[] = [];
  while (lines.length < Math.min(limit, total)) {
    const count = Math.min(Math.max(1, params.pageSize ?? 500), limit - lines.length);
    const page = await fetch(target, reference, { start: lines.length, count, only: "indexed" });
    if (!page.length) break;
    lines.push(...page.map(lineOf));
    job.progress((100 * lines.length) / total, `${lines.length} of ${total}`);
  }
  return { lines, total };
}

function lineOf(member: Body): string {
  return JSON.stringify({ name: String(member.name ?? ""), type: String(member.type ?? ""), value: member.value });
}

function notExpandable(expression: string): Fault {
  const message = `a single value, not something with members: ${quoted(expression)}`;
  return new Fault("E_NOT_EXPANDABLE", message, "use debug_evaluate instead");
}

function write(file: string, lines: string[]): void {
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    writeWhole(file, lines.map((line) => `${line}\n`).join(""));
  } catch (error) {
    throw new Fault("E_FS_ERROR", `cannot write ${file}: ${error}`, "give another outputPath");
  }
}

export const SCRIPTS: Record<string, Script> = { "debug.save-variable": save };
