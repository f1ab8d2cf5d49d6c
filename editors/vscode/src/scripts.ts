/** Every script by its alias, and how one is run: its parameters are checked against its metadata first. */

import * as breakpoints from "./debug/breakpoints";
import { TooLate } from "./debug/cancellable_wait";
import { Gone, Refused } from "./debug/debug_target";
import type { Debugger, Script } from "./debug/debugger";
import * as running from "./debug/execution";
import * as inspecting from "./debug/inspection";
import * as postmortem from "./debug/recordings";
import * as saving from "./debug/variable_export";
import * as diagnostics from "./editing/diagnostics";
import * as symbols from "./editing/symbols";
import * as testing from "./editing/testing";
import * as window from "./editing/window";
import { checked, type Manifest } from "./parameters";
import { Fault, type Job } from "./protocol";

export const SCRIPTS: Record<string, Script> = {
  ...breakpoints.SCRIPTS,
  ...running.SCRIPTS,
  ...inspecting.SCRIPTS,
  ...saving.SCRIPTS,
  ...postmortem.SCRIPTS,
  ...testing.SCRIPTS,
  ...diagnostics.SCRIPTS,
  ...symbols.SCRIPTS,
  ...window.SCRIPTS,
};

/** Does what a script is for. */
export async function run(debug: Debugger, manifest: Manifest, job: Job): Promise<unknown> {
  const name = job.command.scriptName;
  const script = SCRIPTS[name];
  const entry = manifest.scripts[name];
  if (!script || !entry) {
    throw new Fault("E_SCRIPT_NOT_FOUND", `no such script: '${name}'`, "call bridge_status for what there is");
  }
  const params = checked(name, entry.metadata.params ?? {}, job.command.params);
  try {
    return await script(debug, params, job);
  } catch (error) {
    if (error instanceof Refused) {
      throw new Fault("E_INTERNAL", `the debug adapter refused: ${error.message}`, "call debug_status");
    }
    if (error instanceof Gone) throw await debug.gone();
    if (error instanceof TooLate) {
      const hint = "try again; debug_stop ends the program";
      throw new Fault("E_TIMEOUT", "the debug adapter does not answer", hint, {}, true);
    }
    throw error;
  }
}
