/** Whether a process is there: the very one, not another that got its id. */

import * as fs from "node:fs";
import * as os from "node:os";
import type { Command, HostInfo } from "./protocol";

/** Stands for the machine or container in which a process id means what it means here. */
export function namespace(): string {
  try {
    return `${os.hostname()} ${fs.readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return os.hostname();
  }
}

/** When a process started, in ticks since the boot; 0 where that cannot be seen. */
export function processStart(pid: number): number {
  const fields = stat(pid);
  return fields ? Number(fields[19]) : 0;
}

export function isRunning(pid: number, started = 0): boolean {
  if (pid <= 0) return false;
  const fields = stat(pid);
  if (fields) return !["Z", "X"].includes(fields[0] ?? "") && [0, Number(fields[19])].includes(started);
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  return !fs.existsSync("/proc/self/stat");
}

/** Whether a client is still there, as far as can be seen. */
export function isWanted(command: Command): boolean {
  if (!command.namespace) {
    const pid = /-(\d+)$/.exec(command.clientId ?? "")?.[1];
    return pid === undefined || isRunning(Number(pid));
  }
  return command.namespace !== namespace() || isRunning(command.clientPid ?? 0, command.clientStart ?? 0);
}

/** Whether a host's very process is there. Whether it answers, only asking tells. */
export function isAlive(host: HostInfo): boolean {
  const isNear = !host.namespace || host.namespace === namespace();
  return !isNear || isRunning(host.pid, host.processStart);
}

/** Whether a host's very process is seen from here. What came with a clone can hardly name one. */
export function isSeen(host: HostInfo): boolean {
  return host.processStart > 0 && host.namespace === namespace() && isRunning(host.pid, host.processStart);
}

function stat(pid: number): string[] | undefined {
  try {
    // The name stands in parentheses and may itself hold spaces and parentheses; what follows it does not.
    const text = fs.readFileSync(`/proc/${pid}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}
