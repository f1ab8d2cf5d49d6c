/**
 * Keeps the breakpoints of a workspace where the host without an editor does, so that they are there for whichever host
 * comes next.
 */

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { pause } from "../host";
import { readText, writeWhole } from "../job_files";
import { realPath } from "./debug_target";
import { recordings } from "./session_recorder";

const LATE = 1500;
const LOOK = 50;

/** Milliseconds after which an editor has told of all breakpoints that it kept itself. */
const LATEST = 60_000;

interface Kept {
  lines?: { path: string; line: number; condition?: string; hitCondition?: string; logMessage?: string }[];
  functions?: { name: string; condition?: string; hitCondition?: string }[];
  exceptions?: string[];
}

/** Shows in the editor what another host was told, in so far as it is not there; returns filters of exceptions. */
export async function restore(workspace: string): Promise<string[] | undefined> {
  const kept = read(fileOf(workspace));
  // An editor that has just started tells of its own a moment later.
  const isAwaited = Boolean(kept.lines?.length || kept.functions?.length);
  for (let waited = 0; isAwaited && waited < LATE && !vscode.debug.breakpoints.length; waited += LOOK)
    await pause(LOOK);
  const lines = new Set(vscode.debug.breakpoints.filter(isLine).map(placeOf));
  const names = new Set(vscode.debug.breakpoints.filter(isFunction).map((one) => one.functionName));
  const missing = (kept.lines ?? []).filter((one) => !lines.has(`${one.path}:${one.line}`) && fs.existsSync(one.path));
  const restored = missing.map((one) => {
    const at = new vscode.Location(vscode.Uri.file(one.path), new vscode.Position(one.line - 1, 0));
    return new vscode.SourceBreakpoint(at, true, one.condition, one.hitCondition, one.logMessage);
  });
  giveWay(new Map(restored.map((one) => [placeOf(one), one])));
  vscode.debug.addBreakpoints([
    ...restored,
    ...(kept.functions ?? [])
      .filter((one) => !names.has(one.name))
      .map((one) => new vscode.FunctionBreakpoint(one.name, true, one.condition, one.hitCondition)),
  ]);
  return kept.exceptions;
}

/** Removes what we restored where the editor comes late with one of its own. */
function giveWay(restored: Map<string, vscode.SourceBreakpoint>): void {
  const listening = vscode.debug.onDidChangeBreakpoints(({ added }) => {
    for (const one of added.filter(isLine)) {
      const ours = restored.get(placeOf(one));
      if (ours && ours.id !== one.id) vscode.debug.removeBreakpoints([ours]);
    }
  });
  setTimeout(() => listening.dispose(), LATEST).unref();
}

/** Writes down what the editor has for a workspace. */
export function keep(workspace: string, exceptions: string[] | undefined): void {
  const inside = workspace.replace(/\/$/, "") + path.sep;
  const kept: Kept = {
    lines: vscode.debug.breakpoints
      .filter(isLine)
      .filter((one) => one.enabled && realPath(one.location.uri.fsPath).startsWith(inside))
      .map(({ location, condition, hitCondition, logMessage }) => ({
        path: realPath(location.uri.fsPath),
        line: location.range.start.line + 1,
        condition,
        hitCondition,
        logMessage,
      })),
    functions: vscode.debug.breakpoints
      .filter(isFunction)
      .filter((one) => one.enabled)
      .map(({ functionName, condition, hitCondition }) => ({ name: functionName, condition, hitCondition })),
    exceptions,
  };
  const file = fileOf(workspace);
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    writeWhole(file, JSON.stringify(kept, null, 1));
  } catch {
    // The editor keeps its own.
  }
}

function fileOf(workspace: string): string {
  return path.join(path.dirname(recordings(workspace)), "breakpoints.json");
}

function read(file: string): Kept {
  try {
    return JSON.parse(readText(file) ?? "{}") as Kept;
  } catch {
    return {};
  }
}

function isLine(one: vscode.Breakpoint): one is vscode.SourceBreakpoint {
  return one instanceof vscode.SourceBreakpoint;
}

function isFunction(one: vscode.Breakpoint): one is vscode.FunctionBreakpoint {
  return one instanceof vscode.FunctionBreakpoint;
}

function placeOf(one: vscode.SourceBreakpoint): string {
  return `${realPath(one.location.uri.fsPath)}:${one.location.range.start.line + 1}`;
}
