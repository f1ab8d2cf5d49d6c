/** What to debug and how: from the parameters of a call to a configuration that the editor starts. */

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { readText } from "../job_files";
import { Fault } from "../protocol";
import { NODE_IN_SHELL } from "./adapter_dialects";
import { quoted } from "./debug_errors";
import type { Launch } from "./debug_session";
import { adapterOf, type Body } from "./debug_target";
import { adapterPython, findPython, OWN_TYPE, onPath, pythonType } from "./python";

const CHOICES = ["launch", "program", "module", "pytest", "port", "pid"];
const SHELL = "/bin/sh";
const PLUGIN = "binnacle_stop_at_failures";
const PLUGIN_FOLDER = path.join(__dirname, "in_program");
const PYTHON = ["debugpy", "python", OWN_TYPE];

/** A text, which stays; a comment or a comma before a closing bracket, which goes. */
const TOKEN = /"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\/|,(?=(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*[}\]])/g;

/** Checks everything that can be checked before a process is started. */
export async function prepare(params: Body, workspace: string): Promise<Launch> {
  const folder = directory(
    path.resolve(workspace, params.folder ?? ""),
    "E_INVALID_PATH",
    "give folder relative to the workspace",
  );
  const given = CHOICES.filter((name) => params[name] !== undefined && params[name] !== null);
  if (given.length !== 1) {
    const names = configurations(folder).map((one) => one.name);
    throw new Fault(
      given.length ? "E_INVALID_PARAMS" : "E_MISSING_REQUIRED_PARAM",
      `give one of ${CHOICES.join(", ")}; given: ${given.join(", ") || "none"}`,
      `call debug_start with program, the path of a file${names.length ? `, or launch, one of: ${names.join(", ")}` : ""}`,
    );
  }
  const configuration = { ...base(params, folder), ...overrides(params) };
  if (params.pytest !== undefined && params.args) configuration.args = [...tests(params, folder), ...params.args];
  if (params.env) configuration.env = { ...(configuration.env ?? {}), ...params.env };
  await showFile(params.file, folder, configuration);
  const cwd = workingDirectory(configuration, folder);
  if (configuration.program) configuration.program = program(String(configuration.program), cwd, folder);
  configuration.type = typeOf(configuration);
  return finish(configuration, cwd, vscode.workspace.getWorkspaceFolder(vscode.Uri.file(folder)));
}

/** What the one parameter says that names the program. */
function base(params: Body, folder: string): Body {
  const python = { type: pythonType(), request: "launch" };
  if (params.program !== undefined) return { request: "launch", program: params.program };
  if (params.module !== undefined) return { ...python, module: params.module };
  if (params.pytest !== undefined) return { ...python, module: "pytest", args: tests(params, folder) };
  if (params.port !== undefined) {
    return { ...python, request: "attach", connect: { host: params.host ?? "127.0.0.1", port: params.port } };
  }
  if (params.pid !== undefined) return { ...python, request: "attach", processId: params.pid };
  if (typeof params.launch === "object") return { ...params.launch };
  return named(params.launch, folder);
}

function named(name: string, folder: string): Body {
  const known = configurations(folder);
  const found = known.find((one) => one.name === name);
  if (found) return fill(found, folder);
  if (fs.statSync(path.resolve(folder, name), { throwIfNoEntry: false })?.isFile()) {
    return { request: "launch", program: name };
  }
  const names = known.map((one) => String(one.name));
  throw new Fault(
    "E_NOT_FOUND",
    `no configuration in ${path.join(folder, ".vscode", "launch.json")} is called ${quoted(name)}`,
    names.length ? `one of: ${names.join(", ")}` : "give program, module or pytest instead",
    { configurations: names },
  );
}

/** Those of the file, which may have been written this moment, and those the editor knows from elsewhere. */
function configurations(folder: string): Body[] {
  const written = readText(path.join(folder, ".vscode", "launch.json"));
  let own: Body[] = [];
  try {
    own = JSON.parse(withoutComments(written ?? "{}")).configurations ?? [];
  } catch (error) {
    const message = `${path.join(folder, ".vscode", "launch.json")} is no valid JSON: ${error}`;
    throw new Fault("E_INVALID_PARAMS", message, "fix the file, or give program instead");
  }
  const known =
    vscode.workspace.getConfiguration("launch", vscode.Uri.file(folder)).get<Body[]>("configurations") ?? [];
  return [...own, ...known].filter((one) => one && typeof one === "object" && one.name);
}

function withoutComments(text: string): string {
  return text.replace(/^\uFEFF/, "").replace(TOKEN, (found) => (found.startsWith('"') ? found : " "));
}

/** The folder may be one of several in the workspace; all else the editor fills in itself. */
function fill(value: Body, folder: string): Body {
  const text = JSON.stringify(value);
  const quotedFolder = JSON.stringify(folder).slice(1, -1);
  return JSON.parse(text.replace(/\$\{workspace(Folder|Root)\}/g, () => quotedFolder));
}

function overrides(params: Body): Body {
  const { args, cwd, python, stopOnEntry, justMyCode } = params;
  const given = { args, cwd, python, stopOnEntry, justMyCode };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== null));
}

function tests(params: Body, folder: string): string[] {
  const names: string[] = [params.pytest].flat();
  for (const name of names) {
    const file = path.resolve(folder, params.cwd ?? "", name.split("::", 1)[0] ?? "");
    if (!fs.existsSync(file)) {
      throw new Fault("E_FILE_NOT_FOUND", `no such test file: ${file}`, "give pytest relative to the workspace");
    }
  }
  return names;
}

/** A configuration may be about the file that is open. */
async function showFile(file: string | undefined, folder: string, configuration: Body): Promise<void> {
  if (!/\$\{(file|relativeFile)/.test(JSON.stringify(configuration))) return;
  if (file) {
    const uri = vscode.Uri.file(path.resolve(folder, file));
    await vscode.window.showTextDocument(uri, { preserveFocus: true, preview: true });
  } else if (!vscode.window.activeTextEditor) {
    throw new Fault(
      "E_INVALID_PARAMS",
      "the configuration is about the file that is open: ${file}",
      "call debug_start with file as well, the path of that file",
    );
  }
}

function workingDirectory(configuration: Body, folder: string): string {
  const given = String(configuration.cwd ?? "");
  if (given.includes("${")) return given;
  return directory(path.resolve(folder, given), "E_INVALID_PATH", "give another cwd to debug_start");
}

function directory(found: string, code: string, hint: string): string {
  if (fs.statSync(found, { throwIfNoEntry: false })?.isDirectory()) return fs.realpathSync(found);
  throw new Fault(code, `no such directory: ${found}`, hint);
}

/** The program's absolute path. An adapter would start and only then find that it is not there. */
function program(given: string, cwd: string, folder: string): string {
  if (given.includes("${")) return given;
  const places = [folder, cwd].map((one) => path.resolve(one, given));
  const found = places.find((one) => fs.existsSync(one));
  if (found) return found;
  throw new Fault(
    "E_FILE_NOT_FOUND",
    `no such program: ${quoted(given)} (looked for ${places[0]})`,
    "give program relative to the workspace, or as an absolute path",
    { original: given, resolved: places[0] },
  );
}

/** Which of the editor's debuggers it is for. */
function typeOf(configuration: Body): string {
  const given = configuration.type ? String(configuration.type) : typeOfFile(String(configuration.program ?? ""));
  const known = new Set(
    vscode.extensions.all.flatMap((one) => (one.packageJSON.contributes?.debuggers ?? []).map((two: Body) => two.type)),
  );
  if (PYTHON.includes(given)) return known.has(given) && given !== "python" ? given : pythonType();
  if (given && known.has(given)) return given;
  const message = given
    ? `no debugger in this editor is of type ${quoted(given)}`
    : `no debugger is known for files like ${configuration.program}`;
  throw new Fault(
    "E_UNSUPPORTED",
    message,
    "give launch, a configuration of .vscode/launch.json, or install the extension that debugs it",
    {
      script: "debug.start",
      host: "vscode",
    },
  );
}

function typeOfFile(file: string): string {
  if (!file || /\.pyw?$/.test(file)) return pythonType();
  return /\.[mc]?js$/.test(file) ? "node" : "";
}

function finish(configuration: Body, cwd: string, folder: vscode.WorkspaceFolder | undefined): Launch {
  const request = String(configuration.request ?? "launch");
  if (!["launch", "attach"].includes(request)) {
    throw new Fault("E_INVALID_PARAMS", `no such request: ${quoted(request)}`, "one of: launch, attach");
  }
  const title = String(configuration.name ?? titleOf(configuration));
  const adapter = adapterOf(configuration.type);
  let full: Body = { ...configuration, name: title, request };
  let advice = "";
  if (request === "launch") full.cwd = cwd;
  if (adapter === "debugpy") full = forPython(full, cwd);
  if (adapter === "js-debug") full = forNode(full);
  if (adapter === "debugpy" && full.connect) {
    advice = `start the program with: python -m debugpy --listen ${full.connect.port} --wait-for-client FILE`;
  }
  const isSilentOnSuccess = full.runtimeExecutable === SHELL;
  return { title, adapter, request, configuration: full, folder, advice, isSilentOnSuccess };
}

/** What js-debug is told besides. */
function forNode(full: Body): Body {
  const found = { skipFiles: ["<node_internals>/**"], console: "internalConsole", ...full };
  const isPlain = full.request === "launch" && full.program && !full.runtimeExecutable && !full.runtimeVersion;
  if (!isPlain || process.platform === "win32") return found;
  return { ...found, runtimeExecutable: SHELL, runtimeArgs: [...NODE_IN_SHELL, ...[full.runtimeArgs ?? []].flat()] };
}

/** What debugpy is told besides. Modules' own names are of little use to a reader. */
function forPython(full: Body, cwd: string): Body {
  const quiet = { special: "hide", function: "hide", class: "hide", protected: "inline" };
  const common = { justMyCode: true, subProcess: true, showReturnValue: true, variablePresentation: quiet };
  if (full.request === "attach") {
    const { port, host, ...rest } = full;
    if (port !== undefined && !rest.connect) rest.connect = { host: host ?? "127.0.0.1", port };
    checkProcess(rest.processId);
    return { ...common, ...rest };
  }
  const { python: given, pythonPath, envFile, ...rest } = full;
  const isOwn = full.type === OWN_TYPE;
  const chosen = [given ?? pythonPath ?? []]
    .flat()
    .map(String)
    .filter((word) => !word.includes("${command:python"));
  const python = chosen.length || !isOwn ? chosen : [findPython(cwd)];
  if (python[0] && !(python[0].includes("/") ? fs.existsSync(path.resolve(cwd, python[0])) : onPath(python[0]))) {
    throw new Fault("E_FILE_NOT_FOUND", `no such Python: ${python[0]}`, "give the path of another with python");
  }
  return loadPlugin({
    ...common,
    ...rest,
    ...(python.length ? { python } : {}),
    // The program's own Python may be a wrapper that does not even start; this one does.
    ...(isOwn ? { debugLauncherPython: adapterPython(cwd) } : {}),
    env: { ...variables(envFile, cwd), ...(full.env ?? {}) },
    console: "internalConsole",
    redirectOutput: true,
  });
}

/** A launch by debugpy, with a plugin that stops where a test fails if it is one of pytest. */
function loadPlugin(full: Body): Body {
  const options = (full.python ?? []).slice(1).filter((word: string) => /^-[^-]/.test(word));
  // Such a Python would not find it.
  const ignoresPath = options.some((word: string) => /[IE]/.test(word));
  if (full.module !== "pytest" || ignoresPath) return full;
  const before = full.env.PYTHONPATH ?? process.env.PYTHONPATH;
  const place = [PLUGIN_FOLDER, before].filter(Boolean).join(path.delimiter);
  return { ...full, args: ["-p", PLUGIN, ...[full.args ?? []].flat()], env: { ...full.env, PYTHONPATH: place } };
}

/** Injecting the debugger into a process that is not there takes a minute to fail. */
function checkProcess(pid: unknown): void {
  if (pid === undefined || String(pid).includes("${")) return;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EPERM") {
      throw new Fault("E_PERMISSION_DENIED", `process ${pid} is somebody else's`, "give one of your own");
    }
    throw new Fault("E_NOT_FOUND", `no process has the id ${pid}`, "give the id of a Python process");
  }
}

function variables(file: unknown, cwd: string): Record<string, string> {
  if (!file) return {};
  const text = readText(path.resolve(cwd, String(file)));
  if (text === undefined) throw new Fault("E_FILE_NOT_FOUND", `cannot read envFile: ${file}`, "fix envFile");
  const lines = text.split("\n").filter((line) => line.includes("=") && !line.trimStart().startsWith("#"));
  return Object.fromEntries(
    lines.map((line) => {
      const [name = "", ...rest] = line
        .trim()
        .replace(/^export /, "")
        .split("=");
      return [
        name.trim(),
        rest
          .join("=")
          .trim()
          .replace(/^(['"])(.*)\1$/, "$2"),
      ];
    }),
  );
}

function titleOf(configuration: Body): string {
  if (configuration.module === "pytest") return ["pytest", ...[configuration.args ?? []].flat()].join(" ");
  const file = configuration.program ?? configuration.module;
  if (file) return path.basename(String(file));
  if (configuration.processId !== undefined) return `process ${configuration.processId}`;
  const port = configuration.connect?.port ?? configuration.port;
  return port === undefined ? "a program" : `port ${port}`;
}
