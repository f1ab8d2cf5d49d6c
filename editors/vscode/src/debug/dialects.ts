/** What adapters say in their own way, or do not say, in the words that all the others use. */

import type { Body } from "./target";

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
