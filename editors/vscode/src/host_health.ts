/**
 * Whether the window answers. The process of extensions may outlive its window by hours, and what is then asked of the
 * editor waits for ever; so only a round trip to the window tells.
 */

import * as vscode from "vscode";
import { TooLate, within } from "./debug/cancellable_wait";
import { Fault } from "./protocol";

/** Milliseconds in which a window answers. */
const CAP = 1500;

/** Milliseconds that a window may be too busy to answer, and while it builds all that shows a debugged program. */
const BUSY = 8000;
const LAUNCHING = 30_000;

export class HostHealth {
  private last = performance.now();
  private launching = 0;

  /** Returns when the window has answered, or has done so a moment ago. */
  async check(): Promise<void> {
    const answered = Promise.resolve(vscode.commands.executeCommand("setContext", "binnacle.alive", Date.now())).then(
      () => {
        this.last = performance.now();
      },
    );
    answered.catch(() => {});
    try {
      await within(answered, CAP);
    } catch (error) {
      if (error instanceof TooLate && performance.now() - this.last < (this.launching ? LAUNCHING : BUSY)) return;
      throw new Fault(
        "E_BRIDGE_UNAVAILABLE",
        "the window of the editor does not answer; it may be closed",
        "call it again: a host without an editor takes over",
        {},
        true,
      );
    }
  }

  /** A window that starts to debug a program is busy. */
  async during<T>(launch: Promise<T>): Promise<T> {
    this.launching += 1;
    try {
      return await launch;
    } finally {
      this.launching -= 1;
    }
  }
}
