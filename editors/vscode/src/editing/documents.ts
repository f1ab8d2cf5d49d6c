/** Files as they are now: agents change them behind the editor's back, and it takes a moment to see that. */

import * as vscode from "vscode";
import { pause } from "../host";
import { readText } from "../job_files";

/** Milliseconds for the editor to notice that a file has changed. */
const PATIENCE = 5000;
const LOOK = 50;

/** A file's document, once the editor has it as it is on the disk. What a person has not saved stays. */
export async function openFresh(uri: vscode.Uri): Promise<vscode.TextDocument> {
  const document = await vscode.workspace.openTextDocument(uri);
  for (let waited = 0; waited < PATIENCE && isBehind(document); waited += LOOK) await pause(LOOK);
  return document;
}

function isBehind(document: vscode.TextDocument): boolean {
  const written = readText(document.uri.fsPath)?.replace(/^\uFEFF/, "");
  return !document.isDirty && written !== undefined && plain(written) !== plain(document.getText());
}

function plain(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
