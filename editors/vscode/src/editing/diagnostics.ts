/** The script that collects what the editor's language servers find wrong with files. */

import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { within } from "../debug/cancellable_wait";
import { noFile } from "../debug/debug_errors";
import { type Body, realPath } from "../debug/debug_target";
import type { Debugger, Script } from "../debug/debugger";
import { findPython } from "../debug/python";
import { shownPath } from "../debug/stop_report";
import type { Job, Values } from "../protocol";
import { openFresh } from "./documents";

const MOST = 200;

/** Milliseconds for a language server to look at a file that was not open, and for it to say no more. */
const PATIENCE = 8000;
const QUIET = 1500;

const SEVERITIES = ["error", "warning", "information", "hint"];

/** Milliseconds for Python to read the files of a project. */
const COMPILING = 25_000;

/** Where no extension looks at Python, what keeps a file from being compiled is seen all the same. */
const COMPILE = `
import json, os, sys, warnings
warnings.simplefilter("ignore")
def files(top):
    if os.path.isfile(top):
        yield top
    for here, folders, names in os.walk(top):
        folders[:] = sorted(n for n in folders if n[0] != "." and n not in ("node_modules", "__pycache__", "site-packages", "venv"))
        yield from (os.path.join(here, n) for n in sorted(names) if n.endswith((".py", ".pyi")))
def look(file):
    try:
        with open(file, "rb") as source:
            compile(source.read(), file, "exec", dont_inherit=True)
    except SyntaxError as e:
        yield [file, e.lineno or 1, e.offset or 1, type(e).__name__, e.msg]
    except (ValueError, RecursionError) as e:
        yield [file, 1, 1, type(e).__name__, str(e)]
    except OSError:
        pass
print(json.dumps([row for file in files(sys.argv[1]) for row in look(file)]))
`;

async function collect(_: Debugger, params: Body, job: Job): Promise<Values> {
  const file = params.path === undefined ? undefined : realPath(path.resolve(job.workspace, params.path));
  if (file !== undefined && !fs.existsSync(file)) throw noFile(params.path, file);
  if (file !== undefined && fs.statSync(file).isFile()) await look(vscode.Uri.file(file));
  const base = file ?? job.workspace;
  const rows = vscode.languages
    .getDiagnostics()
    .filter(([uri]) => uri.scheme === "file" || uri.scheme === "vscode-remote")
    .map(([uri, found]): [string, vscode.Diagnostic[]] => [realPath(uri.fsPath), found])
    .filter(([place]) => place === base || place.startsWith(base.replace(/\/$/, "") + path.sep))
    .flatMap(([place, found]) => found.map((one) => row(place, one, job.workspace)));
  const isPython = file === undefined || !path.extname(file) || /\.pyi?$/.test(file);
  if (isPython && !rows.some((one) => /\.pyi?$/.test(String(one.path)))) rows.push(...(await compiled(base, job)));
  const more = rows.length - MOST;
  return {
    count: rows.length,
    diagnostics: rows.slice(0, MOST),
    ...(more > 0 ? { more: `${more}; give path, a file or a directory` } : {}),
  };
}

/** Opens a file, so that its language server looks at it, and waits until it has said what it has to say. */
async function look(uri: vscode.Uri): Promise<void> {
  const document = await openFresh(uri);
  const isShown = vscode.window.visibleTextEditors.some((one) => one.document === document);
  // Some servers look only at what a person can see.
  if (!isShown) await vscode.window.showTextDocument(document, { preview: true, preserveFocus: true });
  // A server that just starts has answered this before it looks for what is wrong.
  const ready = Promise.resolve(vscode.commands.executeCommand("vscode.executeDocumentSymbolProvider", uri));
  await within(ready, PATIENCE).catch(() => {});
  await new Promise<void>((resolve) => {
    const end = (): void => {
      heard.dispose();
      clearTimeout(limit);
      clearTimeout(quiet);
      resolve();
    };
    const limit = setTimeout(end, PATIENCE);
    let quiet: NodeJS.Timeout | undefined = setTimeout(
      end,
      vscode.languages.getDiagnostics(uri).length ? QUIET : PATIENCE / 2,
    );
    const heard = vscode.languages.onDidChangeDiagnostics((event) => {
      if (!event.uris.some((one) => one.toString() === uri.toString() || one.fsPath === uri.fsPath)) return;
      clearTimeout(quiet);
      quiet = setTimeout(end, QUIET);
    });
  });
}

function row(place: string, one: vscode.Diagnostic, workspace: string): Values {
  const code = typeof one.code === "object" ? one.code.value : one.code;
  return {
    path: shownPath(place, workspace),
    line: one.range.start.line + 1,
    column: one.range.start.character + 1,
    severity: SEVERITIES[one.severity] ?? "error",
    code: code === undefined ? "" : String(code),
    message: one.message,
    source: one.source ?? "editor",
  };
}

/** What Python itself finds wrong. */
async function compiled(base: string, job: Job): Promise<Values[]> {
  const options = { timeout: COMPILING, maxBuffer: 16 * 1024 * 1024, signal: job.cancelled };
  const text = await new Promise<string>((resolve) => {
    execFile(findPython(job.workspace), ["-c", COMPILE, base], options, (_, output) => resolve(output || "[]"));
  });
  const found = JSON.parse(text) as [string, number, number, string, string][];
  return found.map(([place, line, column, code, message]) => ({
    path: shownPath(place, job.workspace),
    line,
    column,
    severity: "error",
    code,
    message,
    source: "python",
  }));
}

export const SCRIPTS: Record<string, Script> = { "diagnostic.collect": collect };
