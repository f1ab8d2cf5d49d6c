/** Variables of a program, as far as they fit into an answer, and how to get the rest. */

import type { Values } from "../protocol";
import { isWorthALook } from "./adapter_dialects";
import { TooLate } from "./cancellable_wait";
import { type Body, Refused, type Target } from "./debug_target";

/** Characters of one value. */
const VALUE = 300;

/** How many of one variable are shown among others. */
const MEMBERS = 25;

/** How much of it may be told. */
export class Budget {
  constructor(
    private items: number,
    private size: number,
  ) {}

  get isSpent(): boolean {
    return this.items <= 0 || this.size <= 0;
  }

  /** Whether there is room for one more. */
  take(told: Told): boolean {
    this.items -= 1;
    this.size -= told.name.length + told.value.length + 40;
    return this.items >= 0 && this.size >= 0;
  }
}

export interface Told {
  name: string;
  value: string;
  valueCut?: number;
  type?: string;
  variablesReference?: number;
  variables?: Told[];
  more?: string;
}

/** The variables of a frame's function, as they stand in an answer. */
export async function localsOf(target: Target, frame: number, room: Budget): Promise<Values> {
  const shown: Told[] = [];
  try {
    const scopes = localScopes(await target.askScopes(frame));
    if (!scopes.length) return {};
    for (const scope of scopes) {
      const reference = Number(scope.variablesReference);
      const found = await fetch(target, reference);
      const fit = fitting(target, found, room);
      shown.push(...fit);
      const left = found.length - fit.length;
      if (left) return { locals: shown, moreLocals: rest(target, reference, left, fit.length) };
    }
  } catch (error) {
    if (error instanceof Refused || error instanceof TooLate) return shown.length ? { locals: shown } : {};
    throw error;
  }
  return { locals: shown };
}

/** Those of a function: in JavaScript, where every block has one, up to the function's own. */
function localScopes(scopes: Body[]): Body[] {
  const own = scopes.findIndex((one) =>
    String(one.name ?? "")
      .toLowerCase()
      .includes("local"),
  );
  return scopes.slice(0, Math.max(own, 0) + 1);
}

/**
 * Members of a variable, or a page of them. Only for members of one kind may an adapter be asked for a page: of a
 * mixture each gives its own idea of one.
 */
export async function fetch(
  target: Target,
  reference: number,
  page: { start?: number; count?: number; only?: string } = {},
): Promise<Body[]> {
  const { start = 0, count, only } = page;
  const pages = only !== undefined && count !== undefined && target.adapter !== "debugpy";
  const args = { variablesReference: reference, ...(only ? { filter: only } : {}), ...(pages ? { start, count } : {}) };
  const found: Body[] = (await target.ask("variables", args, 10_000)).variables ?? [];
  if (pages) return found.slice(0, count);
  return count === undefined ? found.slice(start) : found.slice(start, start + count);
}

/** A variable as it stands in an answer. */
export function tell(target: Target, variable: Body): Told {
  const value = String(variable.value ?? "");
  const told: Told = { name: String(variable.name ?? ""), value: value.slice(0, VALUE) };
  if (value.length > VALUE) told.valueCut = value.length - VALUE;
  if (variable.type) told.type = variable.type;
  if (variable.variablesReference) {
    told.variablesReference = target.session.references.give("variables", target, Number(variable.variablesReference));
  }
  return told;
}

type Node = { variables?: Told[]; more?: string };

/** Members of a variable and theirs, level by level: names come before details when room is scarce. */
export async function tree(target: Target, reference: number, depth: number, room: Budget): Promise<Node> {
  const top: Node = {};
  let level: [Node, number][] = [[top, reference]];
  for (let deep = 0; deep < depth; deep += 1) {
    const following: [Node, number][] = [];
    for (const [node, number] of level) {
      if (room.isSpent) return top;
      following.push(...(await grow(target, node, number, room, deep === 0)));
    }
    level = following;
  }
  return top;
}

/** Puts members into a node; returns those that have members themselves. */
async function grow(
  target: Target,
  node: Node,
  reference: number,
  room: Budget,
  isScope: boolean,
): Promise<[Node, number][]> {
  let found: Body[];
  try {
    found = await fetch(target, reference);
  } catch (error) {
    if (error instanceof Refused) return [];
    throw error;
  }
  const shown = fitting(target, isScope ? found : found.slice(0, MEMBERS), room);
  node.variables = shown;
  const left = found.length - shown.length;
  if (left) node.more = rest(target, reference, left, shown.length);
  return shown.flatMap((told, at): [Node, number][] => {
    const number = isWorthALook(found[at]) && found[at].variablesReference;
    return number ? [[told, Number(number)]] : [];
  });
}

function fitting(target: Target, found: Body[], room: Budget): Told[] {
  const shown: Told[] = [];
  for (const one of found) {
    const told = tell(target, one);
    if (!room.take(told)) break;
    shown.push(told);
  }
  return shown;
}

function rest(target: Target, reference: number, left: number, start: number): string {
  const ours = target.session.references.give("variables", target, reference);
  return `${left}; debug_get_variable with variablesReference=${ours} start=${start} has them`;
}
