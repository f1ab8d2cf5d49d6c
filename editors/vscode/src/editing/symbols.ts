/** Scripts about symbols, as language servers know them: search, references, calls, renaming, replacing. */

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { TooLate, within } from "../debug/cancellable_wait";
import { noFile, quoted } from "../debug/debug_errors";
import { type Body, realPath } from "../debug/debug_target";
import type { Debugger, Script } from "../debug/debugger";
import { shownPath } from "../debug/stop_report";
import { Fault, type Job, type Values } from "../protocol";
import { openFresh } from "./documents";

/** Milliseconds for a language server to answer, and to get ready before that. */
const PATIENCE = 12_000;
const WARM_UP = 6000;

interface Found {
  uri: vscode.Uri;
  file: string;
  name: string;
  /** With the names of what it is in. */
  qualified: string;
  kind: vscode.SymbolKind;
  range: vscode.Range;
  selection: vscode.Range;
}

async function search(_: Debugger, params: Body, job: Job): Promise<Values> {
  const { query = "", mode = "workspace", limit = 100 } = params;
  if (!["workspace", "document"].includes(mode)) {
    throw new Fault("E_INVALID_MODE", `no such mode: ${quoted(mode)}`, "take workspace or document");
  }
  const kinds: string[] | undefined = params.kinds?.map((one: string) => one.toLowerCase());
  const found = mode === "document" ? await inDocument(params, job) : await inWorkspace(query, job);
  const rows = found
    .filter((one) => one.qualified.toLowerCase().includes(query.toLowerCase()))
    .filter((one) => !kinds?.length || kinds.includes(kindOf(one.kind)));
  const symbols = rows.slice(0, limit).map((one) => ({
    name: one.name,
    kind: kindOf(one.kind),
    nodeId: nodeId(one, job),
    ...(params.includeLocation === false
      ? {}
      : { path: shownPath(one.file, job.workspace), line: one.selection.start.line + 1 }),
    ...(params.includeContainer === false || one.qualified === one.name
      ? {}
      : { container: one.qualified.slice(0, -one.name.length - 1) }),
  }));
  const more = rows.length - symbols.length;
  return {
    count: rows.length,
    symbols,
    ...(more > 0 ? { more: `${more}; give a larger limit, or a longer query` } : {}),
  };
}

async function inDocument(params: Body, job: Job): Promise<Found[]> {
  if (params.path === undefined) {
    throw new Fault("E_INVALID_INPUT", "mode document needs path", "give path, or mode workspace");
  }
  return (await symbolsOf(fileOf(params.path, job))) ?? [];
}

async function inWorkspace(query: string, job: Job): Promise<Found[]> {
  const found = await ask<vscode.SymbolInformation[]>("vscode.executeWorkspaceSymbolProvider", query);
  return (found ?? [])
    .map((one) => fromInformation(one))
    .filter((one) => one.file.startsWith(job.workspace.replace(/\/$/, "") + path.sep));
}

async function navigate(_: Debugger, params: Body, job: Job): Promise<Values> {
  const symbol = await find(params, job);
  const action = params.action ?? "references";
  const command = action === "references" ? "vscode.executeReferenceProvider" : "vscode.executeImplementationProvider";
  const found =
    (await ask<(vscode.Location | vscode.LocationLink)[]>(command, symbol.uri, symbol.selection.start)) ?? [];
  const own = `${symbol.file}:${symbol.selection.start.line + 1}`;
  const places = found
    .map((one) => ("targetUri" in one ? new vscode.Location(one.targetUri, one.targetRange) : one))
    .map((one) => placeOf(one.uri, one.range, job))
    .filter((one) => params.includeDeclaration || action !== "references" || `${one.file}:${one.line}` !== own)
    .map(({ file: _file, ...told }) => told);
  return { symbol: nodeId(symbol, job), action, count: places.length, locations: places.slice(0, 500) };
}

async function calls(_: Debugger, params: Body, job: Job): Promise<Values> {
  const symbol = await find(params, job);
  const direction = params.direction ?? "incoming";
  const at = symbol.selection.start;
  const prepared = await ask<vscode.CallHierarchyItem[]>("vscode.prepareCallHierarchy", symbol.uri, at);
  const item = prepared?.[0];
  if (!item) throw noServer(symbol.file, "calls");
  const rows =
    direction === "incoming"
      ? ((await ask<vscode.CallHierarchyIncomingCall[]>("vscode.provideIncomingCalls", item)) ?? []).map((one) => ({
          other: one.from,
          at: one.fromRanges,
          file: one.from.uri,
        }))
      : ((await ask<vscode.CallHierarchyOutgoingCall[]>("vscode.provideOutgoingCalls", item)) ?? []).map((one) => ({
          other: one.to,
          at: one.fromRanges,
          file: item.uri,
        }));
  const told = rows.map((one) => ({
    name: one.other.name,
    kind: kindOf(one.other.kind),
    path: shownPath(realPath(one.other.uri.fsPath), job.workspace),
    line: one.other.selectionRange.start.line + 1,
    at: one.at.map((range) => `${shownPath(realPath(one.file.fsPath), job.workspace)}:${range.start.line + 1}`),
  }));
  return { symbol: nodeId(symbol, job), direction, count: told.length, calls: told };
}

async function rename(_: Debugger, params: Body, job: Job): Promise<Values> {
  const symbol = await find(params, job);
  checkWritable(symbol.file);
  let edit: vscode.WorkspaceEdit | undefined;
  try {
    const at = symbol.selection.start;
    edit = await ask<vscode.WorkspaceEdit>("vscode.executeDocumentRenameProvider", symbol.uri, at, params.newName);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault(
      "E_OPERATION_FAILED",
      `cannot rename ${symbol.qualified}: ${reason(error)}`,
      "read the message, then try again",
    );
  }
  if (!edit?.size) throw noServer(symbol.file, "renaming");
  const changed = edit.entries().map(([uri, edits]) => ({
    path: shownPath(realPath(uri.fsPath), job.workspace),
    changes: edits.length,
  }));
  await apply(edit);
  return { success: true, symbol: nodeId(symbol, job), newName: params.newName, files: changed };
}

async function replace(_: Debugger, params: Body, job: Job): Promise<Values> {
  const symbol = await find(params, job);
  checkWritable(symbol.file);
  const document = await openFresh(symbol.uri);
  let { range } = symbol;
  const indent = document.lineAt(range.start.line).text.slice(0, range.start.character);
  if (!indent.trim()) range = range.with(range.start.with(undefined, 0));
  const isDeleted = params.replacement === "";
  if (isDeleted && range.end.line + 1 < document.lineCount)
    range = range.with(undefined, new vscode.Position(range.end.line + 1, 0));
  const edit = new vscode.WorkspaceEdit();
  edit.replace(symbol.uri, range, params.replacement);
  await apply(edit);
  return {
    success: true,
    symbol: nodeId(symbol, job),
    path: shownPath(symbol.file, job.workspace),
    line: range.start.line + 1,
    ...(isDeleted ? { deleted: true } : {}),
  };
}

/** Changes files, and saves what was changed. */
async function apply(edit: vscode.WorkspaceEdit): Promise<void> {
  if (!(await vscode.workspace.applyEdit(edit))) {
    throw new Fault("E_OPERATION_FAILED", "the editor refused the change", "read the message, then try again");
  }
  for (const [uri] of edit.entries()) {
    const document = await vscode.workspace.openTextDocument(uri);
    if (document.isDirty && !(await document.save())) {
      throw new Fault("E_OPERATION_FAILED", `cannot save ${uri.fsPath}`, "save it in the editor");
    }
  }
}

/** The one symbol that is meant by nodeId, or by path and symbol. */
async function find(params: Body, job: Job): Promise<Found> {
  const [, givenPath, givenName] = /^[^:]*:(.+):([^:]+)$/.exec(params.nodeId ?? "") ?? [];
  const place = givenPath ?? params.path;
  const name = givenName ?? params.symbol;
  if (!place || !name) {
    throw new Fault("E_INVALID_INPUT", "neither a nodeId nor path and symbol", "give nodeId, or path and symbol");
  }
  const file = fileOf(place, job);
  const known = await symbolsOf(file);
  if (!known) throw noServer(file, "symbols");
  const exact = known.filter((one) => one.qualified === name);
  const found = exact.length ? exact : known.filter((one) => `.${one.qualified}`.endsWith(`.${name}`));
  if (found.length === 1 && found[0]) return found[0];
  if (!found.length) {
    const names = known.slice(0, 30).map((one) => one.qualified);
    throw new Fault("E_NOT_FOUND", `no symbol ${quoted(name)} in ${place}`, `one of: ${names.join(", ")}`);
  }
  const choices = found.map((one) => `${one.qualified} at line ${one.selection.start.line + 1}`).join(", ");
  throw new Fault(
    "E_AMBIGUOUS_SYMBOL",
    `several symbols are called ${quoted(name)}: ${choices}`,
    "give nodeId, or the qualified name",
  );
}

/** Every symbol of a file; undefined where nobody knows its language. A server that just starts gets some time. */
async function symbolsOf(file: string): Promise<Found[] | undefined> {
  const uri = vscode.Uri.file(file);
  await openFresh(uri);
  const end = performance.now() + WARM_UP;
  for (;;) {
    const found = await ask<(vscode.DocumentSymbol | vscode.SymbolInformation)[]>(
      "vscode.executeDocumentSymbolProvider",
      uri,
    );
    if (found?.length) return found.flatMap((one) => ("children" in one ? flat(one, uri, "") : [fromInformation(one)]));
    if (performance.now() > end) return found && [];
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

function flat(one: vscode.DocumentSymbol, uri: vscode.Uri, inside: string): Found[] {
  const qualified = inside ? `${inside}.${one.name}` : one.name;
  const { name, kind, range, selectionRange: selection } = one;
  const own = { uri, file: realPath(uri.fsPath), name, qualified, kind, range, selection };
  return [own, ...one.children.flatMap((child) => flat(child, uri, qualified))];
}

function fromInformation(one: vscode.SymbolInformation): Found {
  const { uri, range } = one.location;
  const name = one.name.replace(/\(\)$/, "");
  const qualified = one.containerName ? `${one.containerName}.${name}` : name;
  return { uri, file: realPath(uri.fsPath), name, qualified, kind: one.kind, range, selection: range };
}

async function ask<T>(command: string, ...args: unknown[]): Promise<T | undefined> {
  try {
    return await within(Promise.resolve(vscode.commands.executeCommand<T>(command, ...args)), PATIENCE);
  } catch (error) {
    if (!(error instanceof TooLate)) throw error;
    throw new Fault("E_TIMEOUT", "the language server does not answer", "call it again in a moment", {}, true);
  }
}

function fileOf(given: string, job: Job): string {
  const file = realPath(path.resolve(job.workspace, given));
  if (!fs.statSync(file, { throwIfNoEntry: false })?.isFile()) throw noFile(given, file);
  return file;
}

function checkWritable(file: string): void {
  try {
    fs.accessSync(file, fs.constants.W_OK);
  } catch {
    throw new Fault("E_FILE_READ_ONLY", `cannot be written: ${file}`, "check its permissions");
  }
}

function noServer(file: string, what: string): Fault {
  return new Fault(
    "E_NO_LANGUAGE_SERVER",
    `the editor knows nothing about ${what} in ${path.basename(file)}`,
    "install the extension for its language in the editor",
  );
}

function placeOf(
  uri: vscode.Uri,
  range: vscode.Range,
  job: Job,
): { file: string; path: string; line: number; column: number; code: string } {
  const file = realPath(uri.fsPath);
  const { line, character } = range.start;
  let code = "";
  try {
    code = (fs.readFileSync(file, "utf8").split("\n")[line] ?? "").trim().slice(0, 200);
  } catch {
    // It is somewhere that only the editor can read.
  }
  return { file, path: shownPath(file, job.workspace), line: line + 1, column: character + 1, code };
}

function nodeId(one: Found, job: Job): string {
  return `${kindOf(one.kind)}:${shownPath(one.file, job.workspace)}:${one.qualified}`;
}

function kindOf(kind: vscode.SymbolKind): string {
  return (vscode.SymbolKind[kind] ?? "symbol").toLowerCase();
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export const SCRIPTS: Record<string, Script> = {
  "search.symbol-search": search,
  "symbol.navigate": navigate,
  "symbol.calls": calls,
  "symbol.rename": rename,
  "code.replace-method": replace,
};
