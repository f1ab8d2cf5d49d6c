/** Clears away what clients and hosts left in `.vsc-bridge`. */

import * as fs from "node:fs";
import * as path from "node:path";
import * as folders from "./job_files";
import { isWanted } from "./process_identity";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** Takes away what nobody will look at any more. */
export function sweep(workspace: string, running: ReadonlySet<string>): void {
  sweepFolder(
    path.join(folders.bridgeFolder(workspace), "prepared"),
    new Set(),
    (job, age) => age > MINUTE || isAbandoned(job, age),
  );
  sweepFolder(folders.executeFolder(workspace), running, isOld);
}

function sweepFolder(folder: string, spared: ReadonlySet<string>, isDue: (job: string, age: number) => boolean): void {
  for (const name of list(folder)) {
    const job = path.join(folder, name);
    const found = fs.lstatSync(job, { throwIfNoEntry: false });
    if (found && !spared.has(name) && isDue(job, Date.now() - found.mtimeMs)) folders.remove(job);
  }
}

function isOld(job: string, age: number): boolean {
  if (isAbandoned(job, age)) return true;
  return age > (folders.exists(job, "done") ? DAY : 2 * DAY);
}

/** Whether nobody waits for it. A client may be in another container, and only ours say in which. */
function isAbandoned(job: string, age: number): boolean {
  try {
    const command = folders.readCommand(job);
    return command !== undefined && !isWanted(command) && (age > MINUTE || Boolean(command.namespace));
  } catch {
    return false;
  }
}

export function list(folder: string): string[] {
  try {
    return fs
      .readdirSync(folder)
      .filter((name) => !name.startsWith("."))
      .sort();
  } catch {
    return [];
  }
}
