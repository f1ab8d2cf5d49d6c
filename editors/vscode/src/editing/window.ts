/** Scripts about the window itself: what it shows, and where it goes. */

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { noFile } from "../debug/debug_errors";
import { type Body, realPath } from "../debug/debug_target";
import type { Debugger, Script } from "../debug/debugger";
import { shownPath } from "../debug/stop_report";
import { Fault, type Job, type Values } from "../protocol";
import { openFresh } from "./documents";

/** Characters of a selection. */
const SELECTION = 4000;

async function getContext(_: Debugger, __: Body, job: Job): Promise<Values> {
  const editor = vscode.window.activeTextEditor;
  const open = vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .map((tab) => tab.input)
    .filter((input) => input instanceof vscode.TabInputText)
    .map((input) => shownPath(realPath(input.uri.fsPath), job.workspace));
  if (!editor) return { file: null, open };
  const { document, selection } = editor;
  const text = document.getText(selection);
  return {
    file: shownPath(realPath(document.uri.fsPath), job.workspace),
    language: document.languageId,
    isDirty: document.isDirty,
    cursor: position(selection.active),
    ...(text
      ? {
          selection: { start: position(selection.start), end: position(selection.end), text: text.slice(0, SELECTION) },
        }
      : {}),
    open,
  };
}

function position(at: vscode.Position): Values {
  return { line: at.line + 1, column: at.character + 1 };
}

async function goToLine(_: Debugger, params: Body, job: Job): Promise<Values> {
  const file = realPath(path.resolve(job.workspace, params.path));
  if (!fs.statSync(file, { throwIfNoEntry: false })?.isFile()) throw noFile(params.path, file);
  const document = await openFresh(vscode.Uri.file(file));
  if (params.line > document.lineCount) {
    const message = `${params.path} has ${document.lineCount} lines, not ${params.line}`;
    throw new Fault("E_INVALID_POSITION", message, `give a line from 1 to ${document.lineCount}`);
  }
  const at = document.validatePosition(new vscode.Position(params.line - 1, (params.column ?? 1) - 1));
  const editor = await vscode.window.showTextDocument(document, { selection: new vscode.Range(at, at) });
  if (!editor.selection.active.isEqual(at)) {
    throw new Fault(
      "E_NAVIGATION_FAILED",
      `the editor did not go to ${params.path}:${params.line}`,
      "try again",
      {},
      true,
    );
  }
  return { success: true, path: shownPath(file, job.workspace), ...position(at) };
}

async function showTestingUi(): Promise<Values> {
  await vscode.commands.executeCommand("workbench.view.testing.focus");
  return { success: true };
}

/** Answers first: the reload ends this host, too. */
async function restart(debug: Debugger): Promise<Values> {
  await debug.health.check();
  setTimeout(() => void vscode.commands.executeCommand("workbench.action.reloadWindow"), 500);
  return { success: true, details: "the window reloads; call again in a few seconds" };
}

export const SCRIPTS: Record<string, Script> = {
  "editor.get-context": getContext,
  "editor.goto-line": goToLine,
  "editor.show-testing-ui": showTestingUi,
  "util.restart-vscode": restart,
};
