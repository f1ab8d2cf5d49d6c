/** The script that collects what the editor's language servers find wrong with files. */

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { shownPath } from "../debug/answers";
import type { Debugger, Script } from "../debug/debugger";
import { noFile } from "../debug/faults";
import { type Body, realPath } from "../debug/target";
import type { Job, Values } from "../protocol";

const MOST = 200;

/** Milliseconds for a language server to look at a file that was not open, and for it to say no more. */
const PATIENCE = 8000;
const QUIET = 1500;

const SEVERITIES = ["error", "warning", "information", "hint"];

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
  const more = rows.length - MOST;
  return {
    count: rows.length,
    diagnostics: rows.slice(0, MOST),
    ...(more > 0 ? { more: `${more}; give path, a file or a directory` } : {}),
  };
}

/** Opens a file, so that its language server looks at it, and waits until it has said what it has to say. */
async function look(uri: vscode.Uri): Promise<void> {
  await vscode.workspace.openTextDocument(uri);
  await new Promise<void>((resolve) => {
    const end = (): void => {
      heard.dispose();
      clearTimeout(limit);
      clearTimeout(quiet);
      resolve();
    };
    const limit = setTimeout(end, PATIENCE);
    let quiet: NodeJS.Timeout | undefined = setTimeout(end, vscode.languages.getDiagnostics(uri).length ? QUIET : PATIENCE / 2);
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

export const SCRIPTS: Record<string, Script> = { "diagnostic.collect": collect };
