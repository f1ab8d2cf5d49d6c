/** Ids of frames and variables as we hand them out: valid until the program goes on, and known to be old after that. */

import { Fault } from "../protocol";
import type { Target } from "./debug_target";

type Kind = "frame" | "variables";

const NEXT = {
  frame: "call debug_stack for the frames there are now",
  variables: "call debug_list_variables for the variables there are now",
};

interface Known {
  kind: Kind;
  target: Target;
  number: number;
}

/**
 * Adapters give the same small numbers again after each step; ours are never given twice. So an id that was remembered
 * from an earlier stop is refused instead of meaning something else.
 */
export class References {
  // Another host, started later for the same workspace, must not give the ids of this one again.
  private readonly first = (Math.floor(Date.now() / 1000) % 100_000) * 1000;
  private last = this.first;
  private readonly live = new Map<number, Known>();
  private readonly given = new Map<Target, Map<string, number>>();

  /** Our id for an adapter's. */
  give(kind: Kind, target: Target, number: number): number {
    const given = this.given.get(target) ?? new Map<string, number>();
    this.given.set(target, given);
    const known = given.get(`${kind} ${number}`);
    if (known !== undefined) return known;
    this.last += 1;
    given.set(`${kind} ${number}`, this.last);
    this.live.set(this.last, { kind, target, number });
    return this.last;
  }

  /** Whose id it is, and the adapter's own. */
  take(kind: Kind, reference: number): [Target, number] {
    const found = this.live.get(reference);
    if (found?.kind === kind) return [found.target, found.number];
    if (found) {
      throw new Fault("E_INVALID_REFERENCE", `${reference} is the id of something else: a ${found.kind}`, NEXT[kind]);
    }
    if (this.first < reference && reference <= this.last) {
      const message = `the program has continued since the id ${reference} was given`;
      throw new Fault("E_STALE_REFERENCE", message, NEXT[kind]);
    }
    throw new Fault("E_INVALID_REFERENCE", `no such id: ${reference}`, NEXT[kind]);
  }

  /** The program goes on: what was given for it is void. */
  forget(target: Target): void {
    for (const reference of this.given.get(target)?.values() ?? []) this.live.delete(reference);
    this.given.delete(target);
  }
}
