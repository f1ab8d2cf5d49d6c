/** The files in `.vsc-bridge` by which a client has a host run a script, and what stands in them. */

export const FOLDER = ".vsc-bridge";
/** Since 2, commands, answers and hosts carry proofs. */
export const VERSION = 2;

/** Answered by every host at once: a round trip, here through the window. */
export const PING = "bridge.ping";

/** Has a host leave the workspace. */
export const STOP = "bridge.stop";

export type Values = { [name: string]: unknown };

/** What a client asks for. */
export interface Command {
  version: number;
  /** `cli-<pid>`, `mcp-<pid>`: where it ends in the id of a process that is gone, nobody waits for the job. */
  clientId: string;
  id: string;
  createdAt: string;
  scriptName: string;
  params: Values;
  /** Milliseconds. */
  timeout?: number | null;
  clientPid?: number;
  clientStart?: number;
  namespace?: string;
  /** What paths are relative to, if it is not the workspace that the host serves. */
  workspace?: string;
}

/** A host, as it introduces itself in `host.json`. */
export interface HostInfo {
  bridgeId: string;
  version: number;
  platform: string;
  workspace: string;
  pid: number;
  startedAt: string;
  wslAware: boolean;
  kind: "headless" | "vscode";
  processStart: number;
  capabilities: Values;
  namespace: string;
  /** That a host of this person's wrote this; see `proofs`. */
  proof?: string;
}

/** An answer that is no: with a code, and with what to do next. */
export class Fault extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string,
    readonly details: Values = {},
    readonly retryable = false,
  ) {
    super(message);
  }
}

/** A script that runs. */
export interface Job {
  readonly id: string;
  readonly command: Command;
  readonly folder: string;
  /** What paths are relative to. */
  readonly workspace: string;
  /** Aborted when the client wants no answer any more. */
  readonly cancelled: AbortSignal;
  progress(pct: number | null, text: string): void;
}

/** The time as it stands in the files. */
export function nowText(): string {
  return new Date().toISOString();
}
