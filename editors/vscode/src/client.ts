/** What this host asks of another: to leave the workspace to the editor. */

import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
import { pause } from "./host";
import * as folders from "./job_files";
import { isAlive, namespace, processStart } from "./process_identity";
import * as proofs from "./proofs";
import { Fault, nowText, STOP, VERSION } from "./protocol";

const PATIENCE = 3000;
const END = 8000;
const LOOK = 20;

/** Ends a host without an editor that debugs nothing; throws if there is one that does, or another editor. */
export async function askToLeave(workspace: string): Promise<void> {
  const host = folders.readHost(workspace);
  if (!host || !isAlive(host) || host.kind !== "headless") return;
  const key = proofs.readKey(workspace, host.bridgeId);
  if (!key) return;
  if ((await ask(workspace, key, "debug.status")) !== "E_NO_SESSION") {
    throw new Fault("E_BUSY", "a host without an editor debugs a program here", "end that with debug_stop");
  }
  await ask(workspace, key, STOP);
  for (let waited = 0; waited < END && isAlive(host); waited += LOOK) await pause(LOOK);
}

/** Runs a script there; returns the code of its error, or nothing. */
async function ask(workspace: string, key: Buffer, scriptName: string): Promise<string> {
  const id = `${nowText().replace(/[-:.]/g, "")}-0000-${randomBytes(2).toString("hex")}`;
  const prepared = path.join(folders.bridgeFolder(workspace), "prepared", id);
  const folder = path.join(folders.executeFolder(workspace), id);
  const { pid } = process;
  const command = {
    version: VERSION,
    clientId: `vscode-${pid}`,
    id,
    createdAt: nowText(),
    scriptName,
    params: {},
    timeout: PATIENCE,
    clientPid: pid,
    clientStart: processStart(pid),
    namespace: namespace(),
  };
  folders.openBridge(workspace);
  fs.mkdirSync(prepared, { mode: 0o700 });
  const content = JSON.stringify(command);
  fs.writeFileSync(path.join(prepared, "command.json"), content, { mode: 0o600 });
  fs.writeFileSync(path.join(prepared, "proof"), proofs.proveCommand(key, id, content), { mode: 0o600 });
  try {
    fs.renameSync(prepared, folder);
    for (let waited = 0; waited < PATIENCE && !folders.exists(folder, "done"); waited += LOOK) await pause(LOOK);
    const proof = folders.readText(path.join(folder, "done"));
    if (proof === undefined) return "E_TIMEOUT";
    const written = folders.readText(path.join(folder, "error.json"));
    if (!written) return "";
    const isProven = proofs.matches(proof, proofs.proveAnswer(key, "error", id, written));
    return isProven ? String(JSON.parse(written).error?.code ?? "") : "E_NO_RESPONSE";
  } finally {
    folders.remove(prepared);
    folders.remove(folder);
  }
}
