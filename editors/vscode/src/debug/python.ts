/** The Python of a project, and the one that runs debugpy. */

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { Fault } from "../protocol";

/** The type under which this extension offers debugpy itself. */
export const OWN_TYPE = "binnacle-python";

/** What runs Python programs here: the extension made for it, or our own way to debugpy. */
export function pythonType(): string {
  return vscode.extensions.getExtension("ms-python.debugpy") ? "debugpy" : OWN_TYPE;
}

/** The Python of a project: its own environment, the active one, the one on the PATH. */
export function findPython(folder: string): string {
  const active = process.env.VIRTUAL_ENV;
  const homes = [path.join(folder, ".venv"), path.join(folder, "venv"), ...(active ? [active] : [])];
  const own = homes.map((home) => path.join(home, "bin", "python")).find(isExecutable);
  return own ?? onPath("python3") ?? onPath("python") ?? "python3";
}

/** A Python that has debugpy: as configured, the project's, the active one, or the one that runs `bn`. */
export function adapterPython(folder: string): string {
  const configured = vscode.workspace.getConfiguration("binnacle").get<string>("debugpyPython");
  if (configured) return configured;
  const bn = onPath("bn");
  const beside = [bn ? interpreterOf(bn) : undefined, onPath("python3"), onPath("python")];
  const found = [findPython(folder), ...beside].find((python) => python && hasDebugpy(python));
  if (found) return found;
  throw new Fault(
    "E_UNSUPPORTED",
    "no debug adapter for Python on this machine: debugpy",
    "pip install 'binnacle-bn[debug]', or pip install debugpy in the project's own environment; then call debug_start again",
    { adapter: "debugpy" },
  );
}

export function onPath(name: string): string | undefined {
  const places = (process.env.PATH ?? "").split(path.delimiter).filter(Boolean);
  return places.map((place) => path.join(place, name)).find(isExecutable);
}

/** Whether an environment has debugpy, seen by its files: asking it would cost a process. */
function hasDebugpy(python: string): boolean {
  const homes = [python, realpath(python)].map((one) => path.join(path.dirname(one), "..", "lib"));
  return homes.some((home) =>
    list(home)
      .filter((name) => name.startsWith("python"))
      .some((name) =>
        ["site-packages", "dist-packages"].some((box) => fs.existsSync(path.join(home, name, box, "debugpy"))),
      ),
  );
}

/** What the first line of a script names. */
function interpreterOf(script: string): string | undefined {
  try {
    const first = fs.readFileSync(script, "latin1").split("\n", 1)[0] ?? "";
    const word = /^#!(\S+)$/.exec(first.trim())?.[1];
    return word && isExecutable(word) ? word : undefined;
  } catch {
    return undefined;
  }
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

function realpath(file: string): string {
  try {
    return fs.realpathSync(file);
  } catch {
    return file;
  }
}

function list(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}
