/** Which hits of a breakpoint stop a program: the same for all adapters, who differ in what they make of a number. */

import { Fault } from "../protocol";
import { quoted } from "./debug_errors";

const FORM = /^\s*(>=|<=|={0,3}|>|<|%)\s*([0-9]{1,9})\s*$/;

const RULES: Record<string, (hits: number, number: number) => boolean> = {
  ">=": (hits, number) => hits >= number,
  ">": (hits, number) => hits > number,
  "<=": (hits, number) => hits <= number,
  "<": (hits, number) => hits < number,
  "%": (hits, number) => hits % Math.max(number, 1) === 0,
};

/**
 * Adapters that count as we do, if a breakpoint has no condition besides. With one, debugpy stops if either is true,
 * and js-debug forgets the count.
 */
const KNOWING = ["debugpy", "js-debug"];

interface Wanted {
  condition?: string;
  hitCondition?: string;
  logMessage?: string;
}

/** Returns if it says which hits. */
export function check(text: string): void {
  if (FORM.test(text)) return;
  throw new Fault(
    "E_INVALID_PARAMS",
    `hitCondition says no count: ${quoted(text)}`,
    "give 5 for the fifth hit, >=5 from then on, <=5 up to it, %5 for every fifth",
  );
}

/** Whether to stop at this hit, the first being 1. */
export function isDue(text: string, hits: number): boolean {
  const [, sign = "", number = ""] = FORM.exec(text) ?? [];
  if (!number) return true;
  return RULES[sign]?.(hits, Number(number)) ?? hits === Number(number);
}

/** Whether we count the hits ourselves, and have the program go on. Where a message is written nothing stops. */
export function mustBeCounted(wanted: Wanted, adapter: string): boolean {
  if (!wanted.hitCondition || wanted.logMessage) return false;
  return !KNOWING.includes(adapter) || Boolean(wanted.condition);
}
