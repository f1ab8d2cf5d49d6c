/** Scripts about breakpoints: those the editor shows, whoever set them. */

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { Fault, type Job, type Values } from "../protocol";
import { noFile, quoted } from "./debug_errors";
import { type Bound, placeOf } from "./debug_session";
import { type Body, realPath } from "./debug_target";
import type { Debugger, Script } from "./debugger";
import { check } from "./hit_conditions";
import { shownPath } from "./stop_report";

const LISTED = "call breakpoint_list for those there are";

/** Milliseconds for the editor to tell adapters of a change. */
const BINDING = 2000;

/** Lines as they were asked for: the editor moves a breakpoint to where it was bound. */
const wanted = new Map<string, number>();

/** Those that we removed: the word that they were added may come later, and bring them back for a moment. */
const removed = new Set<string>();

/** Has programs stop somewhere, now and in every later session. */
async function set(debug: Debugger, params: Body, job: Job): Promise<Values> {
  const hits = params.hitCondition === undefined ? undefined : String(params.hitCondition).trim();
  if (hits !== undefined) check(hits);
  if (params.exceptions) return await setExceptions(debug, params.exceptions);
  if (params.function) {
    drop(functions().filter((one) => one.functionName === params.function));
    vscode.debug.addBreakpoints([new vscode.FunctionBreakpoint(params.function, true, params.condition, hits)]);
    return { success: true, function: params.function };
  }
  const [file, line] = place(params, job);
  drop(at(file, line));
  const location = new vscode.Location(vscode.Uri.file(file), new vscode.Position(line - 1, 0));
  const one = new vscode.SourceBreakpoint(location, true, params.condition, hits, params.logMessage);
  wanted.set(one.id, line);
  vscode.debug.addBreakpoints([one]);
  await settled(debug, (bound) => bound.has(placeOf({ path: file, line })));
  return { success: true, ...row(debug, one, job.workspace) };
}

async function setExceptions(debug: Debugger, filters: string[]): Promise<Values> {
  const offered: string[] = debug
    .liveTargets()
    .flatMap((one) => one.capabilities.exceptionBreakpointFilters ?? [])
    .map((one: Body) => one.filter);
  const unknown = filters.find((one) => offered.length && !offered.includes(one));
  if (unknown !== undefined) {
    const known = [...new Set(offered)].sort().join(", ");
    throw new Fault("E_INVALID_PARAMS", `no such filter of exceptions: ${quoted(unknown)}`, `one of: ${known}`);
  }
  await debug.setExceptions(filters);
  return { success: true, exceptions: filters };
}

async function remove(debug: Debugger, params: Body, job: Job): Promise<Values> {
  if (params.function) {
    const found = functions().filter((one) => one.functionName === params.function);
    if (!found.length) {
      throw new Fault("E_NOT_FOUND", `no breakpoint on the function ${quoted(params.function)}`, LISTED);
    }
    drop(found);
    return { success: true };
  }
  if (params.path === undefined || params.line === undefined) {
    throw new Fault("E_INVALID_PARAMS", "give path and line, or function", LISTED);
  }
  const found = at(absolute(params.path, job), params.line);
  if (!found.length) throw new Fault("E_NOT_FOUND", `no breakpoint at ${params.path}:${params.line}`, LISTED);
  await take(debug, found);
  return { success: true };
}

/** Removes those of a file, which may be gone itself. */
async function clearFile(debug: Debugger, params: Body, job: Job): Promise<Values> {
  const file = absolute(params.path, job);
  const found = lines().filter((one) => fileOf(one) === file);
  if (!found.length && !fs.existsSync(file)) throw noFile(params.path, file);
  await take(debug, found);
  return { success: true, removed: found.length };
}

async function clearProject(debug: Debugger): Promise<Values> {
  const found = [...lines(), ...functions()];
  await take(debug, found);
  if (debug.exceptions !== undefined) await debug.setExceptions(undefined);
  return { success: true, removed: found.length };
}

async function list(debug: Debugger, _: Body, job: Job): Promise<Values> {
  const known = lines().map((one) => row(debug, one, job.workspace));
  const named = functions().map((one) => ({
    name: one.functionName,
    ...(one.condition ? { condition: one.condition } : {}),
    ...(one.hitCondition ? { hitCondition: one.hitCondition } : {}),
  }));
  const { exceptions } = debug;
  return {
    breakpoints: known,
    count: known.length,
    ...(named.length ? { functions: named } : {}),
    ...(exceptions ? { exceptions } : {}),
  };
}

function place(params: Body, job: Job): [string, number] {
  if (params.path === undefined || params.line === undefined) {
    throw new Fault("E_MISSING_REQUIRED_PARAM", "give path and line, or function", "call breakpoint_set again");
  }
  const file = absolute(params.path, job);
  if (!fs.statSync(file, { throwIfNoEntry: false })?.isFile()) throw noFile(params.path, file);
  const text = fs.readFileSync(file, "utf8");
  const length = text.split("\n").length - (text.endsWith("\n") || !text ? 1 : 0);
  if (params.line < 1 || params.line > Math.max(length, 1)) {
    const message = `${params.path} has ${length} lines, not ${params.line}`;
    throw new Fault("E_INVALID_LINE", message, `give a line from 1 to ${length}`);
  }
  return [file, params.line];
}

function absolute(given: string, job: Job): string {
  return realPath(path.resolve(job.workspace, given));
}

function lines(): vscode.SourceBreakpoint[] {
  const found = present().filter((one) => one instanceof vscode.SourceBreakpoint);
  return found.sort((a, b) => fileOf(a).localeCompare(fileOf(b)) || lineOf(a) - lineOf(b));
}

function functions(): vscode.FunctionBreakpoint[] {
  return present().filter((one) => one instanceof vscode.FunctionBreakpoint);
}

function at(file: string, line: number): vscode.SourceBreakpoint[] {
  return lines().filter((one) => fileOf(one) === file && lineOf(one) === line);
}

function fileOf(one: vscode.SourceBreakpoint): string {
  return realPath(one.location.uri.fsPath);
}

function lineOf(one: vscode.SourceBreakpoint): number {
  return wanted.get(one.id) ?? one.location.range.start.line + 1;
}

function present(): vscode.Breakpoint[] {
  return vscode.debug.breakpoints.filter((one) => !removed.has(one.id));
}

function drop(found: vscode.Breakpoint[]): void {
  vscode.debug.removeBreakpoints(found);
  for (const one of found) {
    removed.add(one.id);
    wanted.delete(one.id);
  }
}

/** Removes breakpoints, and returns when no program that is debugged has them any more. */
async function take(debug: Debugger, found: vscode.Breakpoint[]): Promise<void> {
  if (!found.length) return;
  const places = found.filter((one) => one instanceof vscode.SourceBreakpoint).flatMap(placesOf);
  drop(found);
  await settled(debug, (bound) => !places.some((one) => bound.has(one)));
}

/** As it was asked for, and as the editor may have moved it. */
function placesOf(one: vscode.SourceBreakpoint): string[] {
  const path = fileOf(one);
  return [lineOf(one), one.location.range.start.line + 1].map((line) => placeOf({ path, line }));
}

/** Waits until every program that is debugged knows of a change, as far as it wants to. */
async function settled(debug: Debugger, holds: (bound: ReadonlyMap<string, Bound>) => boolean): Promise<void> {
  for (const target of debug.liveTargets()) {
    const find = (): true | undefined => (target.state === "terminated" || holds(target.bound) || undefined) && true;
    await target.session.signal.until(find, BINDING).catch(() => {});
  }
}

/** A breakpoint and what became of it in the programs that are debugged. */
function row(debug: Debugger, one: vscode.SourceBreakpoint, workspace: string): Values {
  const line = lineOf(one);
  const told: Values = { line };
  for (const name of ["condition", "hitCondition", "logMessage"] as const) if (one[name]) told[name] = one[name];
  told.path = shownPath(fileOf(one), workspace);
  const bound = debug.liveTargets().flatMap((target) => {
    const found = placesOf(one)
      .map((place) => target.bound.get(place))
      .find(Boolean);
    return found ? [found] : [];
  });
  told.verified = bound.some((other) => other.verified);
  if (!bound.length) told.message = "bound when a session starts";
  else if (!told.verified) told.message = bound[0]?.message || "in no code that is loaded yet";
  const placed = bound.find((other) => other.verified && ![undefined, line].includes(other.boundLine))?.boundLine;
  return { ...told, ...(placed ? { boundLine: placed } : {}), ...(one.enabled ? {} : { enabled: false }) };
}

export const SCRIPTS: Record<string, Script> = {
  "breakpoint.set": set,
  "breakpoint.remove": remove,
  "breakpoint.clear.file": clearFile,
  "breakpoint.clear.project": clearProject,
  "breakpoint.list": list,
};
