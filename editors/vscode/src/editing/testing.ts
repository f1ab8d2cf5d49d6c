/** The script that debugs the test at a line. */

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { within } from "../debug/cancellable_wait";
import { noFile } from "../debug/debug_errors";
import type { Session } from "../debug/debug_session";
import { type Body, realPath } from "../debug/debug_target";
import type { Debugger, Script } from "../debug/debugger";
import { begin, follow } from "../debug/execution";
import { prepare } from "../debug/launch_request";
import { findPython } from "../debug/python";
import { Fault, type Job, type Values } from "../protocol";

/** Milliseconds for the editor's own view of tests to start one. */
const START = 15_000;

/** Runs one test under the debugger. It stops at breakpoints, and where a test of pytest fails. */
async function debugSingle(debug: Debugger, params: Body, job: Job): Promise<Values> {
  const file = realPath(path.resolve(job.workspace, params.path));
  if (!fs.statSync(file, { throwIfNoEntry: false })?.isFile()) throw noFile(params.path, file);
  if (!file.endsWith(".py")) return await byEditor(debug, file, params, job);
  const name = `${path.relative(job.workspace, file)}::${testAt(file, params.line)}`;
  const python = params.python ?? findPython(job.workspace);
  const launch = await prepare({ pytest: name, python, args: options(python) }, job.workspace);
  return { test: name, ...(await begin(debug, launch, params, job)) };
}

/** Tests of other languages are those the editor's extensions know. */
async function byEditor(debug: Debugger, file: string, params: Body, job: Job): Promise<Values> {
  await debug.health.check();
  const at = new vscode.Position(params.line - 1, (params.column ?? 1) - 1);
  const selection = new vscode.Range(at, at);
  await vscode.window.showTextDocument(vscode.Uri.file(file), { selection });
  const known = new Set(debug.sessions.keys());
  let stop: vscode.Disposable | undefined;
  const begun = new Promise<Session>((resolve) => {
    stop = debug.onChange(() => {
      const found = [...debug.sessions.values()].find((one) => !known.has(one.id));
      if (found) resolve(found);
    });
  });
  try {
    void vscode.commands.executeCommand("testing.debugAtCursor");
    const session = await within(begun, START, job.cancelled);
    return { test: session.launch.title, ...(await follow(debug, session, params, job)) };
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault(
      "E_NO_TEST_AT_CURSOR",
      `the editor started no test at line ${params.line} of ${file}`,
      "give a line inside a test that the view of tests shows; an extension for its language may be missing",
    );
  } finally {
    stop?.dispose();
  }
}

/** The test around a line, as pytest names it within its file. */
export function testAt(file: string, line: number): string {
  const tests = testsOf(fs.readFileSync(file, "utf8").split("\n"));
  const found = tests.find((one) => one.first <= line && line <= one.last);
  if (found) return found.name;
  const known = tests.slice(0, 20).map((one) => `${one.name} at line ${one.line}`);
  throw new Fault(
    "E_NO_TEST_AT_CURSOR",
    `no test of pytest is at line ${line} of ${file}`,
    known.length ? `give a line of: ${known.join(", ")}` : "tests are functions called test_…, also in classes Test…",
  );
}

interface Test {
  name: string;
  first: number;
  line: number;
  last: number;
}

/** Functions called test…, alone or in classes of tests, told by their indentation. */
function testsOf(lines: string[]): Test[] {
  const tests: Test[] = [];
  let classes: { name: string; depth: number; isTest: boolean }[] = [];
  let decorators = 0;
  for (const [number, text] of lines.entries()) {
    const depth = text.length - text.trimStart().length;
    if (text.trim() && !text.trimStart().startsWith("#")) classes = classes.filter((one) => one.depth < depth);
    const group = /^\s*class\s+(\w+)\s*(\(.*)?/.exec(text);
    const test = /^\s*(?:async\s+)?def\s+(test\w*)/.exec(text);
    if (group) {
      const isTest = /^Test/.test(group[1] ?? "") || /TestCase\b/.test(group[2] ?? "");
      classes.push({ name: group[1] ?? "", depth, isTest });
    }
    if (test && classes.every((one) => one.isTest) && (depth === 0 || classes.length)) {
      const name = [...classes.map((one) => one.name), test[1]].join("::");
      tests.push({ name, first: number + 1 - decorators, line: number + 1, last: endOf(lines, number, depth) });
    }
    decorators = /^\s*@/.test(text) ? decorators + 1 : 0;
  }
  return tests;
}

/** The last line that is deeper than a function's own. */
function endOf(lines: string[], start: number, depth: number): number {
  let last = start;
  for (let at = start + 1; at < lines.length; at += 1) {
    const text = lines[at] ?? "";
    if (!text.trim()) continue;
    const isCloser = /^\s*[)\]}]/.test(text);
    if (text.length - text.trimStart().length <= depth && !isCloser) break;
    last = at;
  }
  return last + 1;
}

/** In one process, and without measuring coverage: both would be in the debugger's way. */
function options(python: string): string[] {
  const lib = path.join(path.dirname(python), "..", "lib");
  const boxes = fs.existsSync(lib) ? fs.readdirSync(lib).filter((name) => name.startsWith("python")) : [];
  const has = (name: string): boolean => boxes.some((box) => fs.existsSync(path.join(lib, box, "site-packages", name)));
  return [...(has("xdist") ? ["-n0"] : []), ...(has("pytest_cov") ? ["--no-cov"] : [])];
}

export const SCRIPTS: Record<string, Script> = { "test.debug-single": debugSingle };
