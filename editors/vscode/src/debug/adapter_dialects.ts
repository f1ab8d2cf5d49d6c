/** What adapters say in their own way, or do not say, in the words that all the others use. */

import type { Body } from "./debug_target";

/** How those tell the exit code who send no event about it. */
const EXIT: Record<string, RegExp> = {
  "js-debug": /^Process exited with code (\d+)\s*$/,
  go: /^Process \d+ has exited with status (-?\d+)\s*$/,
};

/** What is meant for a person at a terminal. */
const CHATTER: Record<string, RegExp> = {
  go: /^Type 'dlv help' for list of commands\.\n$/,
  "js-debug": /^\/bin\/sh -c .*\n$/,
};

/** How debugpy decorates names of frames and exceptions, and what it says of an exception without a message. */
const CHAINED = /^\[Chained Exc: ([\s\S]*)\] ([^\]]*)$/;
const CURRENT = / \(Current frame\)$/;
const PAUSED_AT = /\s+\(note: full exception trace is shown but execution is paused at: .*\)/;
const NOTHING = "exception: no description";

/** The function's own name in one that js-debug put its object before: `global.add`, `Module._extensions..js`. */
const LAST_NAME = /(?:^|\.)(\.?[^.]+)$/;

/** Runs Node in a shell, whose exit code also tells of a signal; js-debug is silent on that as it is on 0. */
export const NODE_IN_SHELL = ["-c", 'node "$@"; exit $?', "node"];

/** What a program or its adapter wrote. */
export function plainOutput(adapter: string, text: string): string {
  return CHATTER[adapter]?.test(text) ? "" : text.replaceAll("\r\n", "\n");
}

/** The exit code, if that is what an adapter's text is about. */
export function exitCodeIn(adapter: string, text: string): number | undefined {
  const found = EXIT[adapter]?.exec(text);
  return found ? Number(found[1]) : undefined;
}

/** Whether to show members of a variable unasked: what JavaScript brings along is large, and not the program's. */
export function isWorthALook(variable: Body): boolean {
  return variable.presentationHint?.visibility !== "internal" && variable.type !== "global";
}

/** The one line of a complaint that says what is wrong: tracebacks of Python end with it, others begin with it. */
export function gist(complaint: string): string {
  const lines = complaint
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  const line = lines[0]?.startsWith("Traceback") ? lines.at(-1) : lines[0];
  return line?.replace(/^error: /, "") ?? "no reason given";
}

/** A function's own name, out of what an adapter calls its frame. */
export function functionName(adapter: string, name: string): string {
  if (adapter === "js-debug") return LAST_NAME.exec(name)?.[1] ?? name;
  if (adapter !== "debugpy") return name;
  const plain = name.replace(CURRENT, "");
  return CHAINED.exec(plain)?.[2] ?? plain;
}

/** The message of the exception that a frame belongs to, if that is the cause of the one that stopped. */
export function causeOfFrame(adapter: string, name: string): string | undefined {
  return adapter === "debugpy" ? CHAINED.exec(name.replace(CURRENT, ""))?.[1] : undefined;
}

/** Class and message of an exception, out of what an adapter says about it; no class for what has none. */
export function exceptionOf(adapter: string, info: Body, stopText: string): { type?: string; message: string } {
  const name = String(info.exceptionId ?? "");
  const text = String(info.description ?? "");
  const trace = String(info.details?.stackTrace ?? "");
  if (adapter === "debugpy") {
    const type = name.replace(PAUSED_AT, "");
    // For want of a message it takes that of the cause. The trace ends with what was raised.
    const isBare = text === NOTHING || trace.replace(/\n+$/, "").endsWith(`${type}: `);
    return { type, message: isBare ? "" : text };
  }
  if (adapter !== "js-debug") return { type: name, message: text || stopText };
  if (!trace) return { message: name };
  const [type = "", ...message] = name.split(": ");
  return { type, message: message.join(": ") };
}
