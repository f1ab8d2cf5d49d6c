/** Stops trying what fails again and again, until some time has passed. */

import { Fault } from "./protocol";

/** So many within the window are too many. */
const FAILURES = 10;
const WINDOW = 60_000;

export class Breaker {
  private failures: number[] = [];

  noteFailure(): void {
    this.failures = [...this.failures, performance.now()].slice(-FAILURES);
  }

  /** Returns if it may be tried. */
  check(): void {
    const left = (this.failures[0] ?? 0) + WINDOW - performance.now();
    if (this.failures.length < FAILURES || left <= 0) return;
    throw new Fault(
      "E_CIRCUIT_OPEN",
      `scripts failed by a defect of theirs or hung ${FAILURES} times within ${WINDOW / 1000} s; nothing is tried for now`,
      `try again in ${Math.ceil(left / 1000)} s; call bridge_status to see how things stand`,
      { retryAfter: Math.ceil(left) },
      true,
    );
  }
}
