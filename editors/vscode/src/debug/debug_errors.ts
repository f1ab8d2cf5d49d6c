/** The errors a debugger answers with. Each says which tool to call next. */

import { Fault, type Values } from "../protocol";

export const START_FIRST = "start a debug session first using debug_start";

export function noSession(message = "no active debug session", details: Values = {}): Fault {
  return new Fault("E_NO_SESSION", message, START_FIRST, details);
}

export function notPaused(session: string): Fault {
  return new Fault(
    "E_NOT_PAUSED",
    `the program of session ${session} is running`,
    "call debug_wait_for_hit until it stops; call debug_pause to stop it where it is",
    { sessionId: session },
    true,
  );
}

export function stillRunning(session: string, seconds: number, output: Values): Fault {
  return new Fault(
    "E_TIMEOUT",
    `session ${session} neither stopped nor ended within ${seconds} s; it is still running`,
    "call debug_wait_for_hit to wait longer; call debug_pause to see where it is; call debug_stop to end it",
    { sessionId: session, state: "running", ...output },
    true,
  );
}

export function lost(session: string, how: string, output: Values): Fault {
  return new Fault("E_SESSION_TERMINATED", `session ${session} is gone: ${how}`, "start it again using debug_start", {
    sessionId: session,
    state: "terminated",
    ...output,
  });
}

export function busy(session: string, expression: string): Fault {
  return new Fault(
    "E_BUSY",
    `an earlier expression still runs in the program of session ${session}: ${quoted(expression)}`,
    "wait and try again; debug_stop ends the program",
    { sessionId: session },
    true,
  );
}

export function noFile(given: string, file: string): Fault {
  return new Fault(
    "E_FILE_NOT_FOUND",
    `no such file: ${quoted(given)} (looked for ${file})`,
    "give path relative to the workspace, or an absolute one",
    { original: given, resolved: file },
  );
}

export function quoted(text: string): string {
  return `'${text}'`;
}
