/** Scripts that look into a program that stands still, and change what they find. */

import { Fault, type Job, type Values } from "../protocol";
import { gist } from "./adapter_dialects";
import { Cancelled, TooLate, within } from "./cancellable_wait";
import { quoted } from "./debug_errors";
import { type Body, Gone, Refused, type Target } from "./debug_target";
import type { Debugger, Script } from "./debugger";
import { framesOf, threadOf } from "./stop_report";
import { Budget, fetch, tell, tree } from "./variable_tree";

/** Characters of an expression's value. */
const RESULT = 8000;

/** How adapters call what we call scopes; part of the name suffices. */
const SCOPES: Record<string, string[]> = {
  local: ["local", "argument"],
  closure: ["closure", "block", "catch"],
  global: ["global", "static"],
};

async function stack(debug: Debugger, params: Body): Promise<Values> {
  const target = debug.target(params.sessionId);
  if (!target.stop) throw new Gone("stackTrace");
  const thread = params.threadId ?? (await threadOf(target, target.stop));
  const start = params.start ?? 0;
  const limit = Math.max(1, Math.min(params.count ?? 20, 1000));
  const { frames, more } = await framesOf(target, thread, limit, start);
  if (!frames.length) throw new Fault("E_NO_STACK", `thread ${thread} has no frames there`, "call debug_threads");
  const rest = more > 0 ? { more: `${more}; call with start=${start + frames.length}` } : {};
  return { sessionId: target.id, threadId: thread, frames, ...rest };
}

async function scopes(debug: Debugger, params: Body): Promise<Values> {
  const [target, frame] = debug.frame(params.frameId, params.sessionId);
  const rows = (await scopesOf(target, frame)).map((one) => ({
    name: one.name,
    variablesReference: target.session.references.give("variables", target, Number(one.variablesReference)),
    expensive: Boolean(one.expensive),
  }));
  return { sessionId: target.id, scopes: rows };
}

/** What a frame sees, some levels deep, as far as it fits. */
async function listVariables(debug: Debugger, params: Body): Promise<Values> {
  const [target, frame] = debug.frame(params.frameId, params.sessionId);
  const room = new Budget(400, 16_000);
  const wanted = SCOPES[params.scope ?? "all"];
  const depth = Math.max(1, Math.min(params.maxDepth ?? 3, 10));
  const rows = [];
  for (const one of await scopesOf(target, frame)) {
    const name = String(one.name ?? "");
    if (wanted && !wanted.some((word) => name.toLowerCase().includes(word))) continue;
    const number = Number(one.variablesReference);
    if (!wanted && (one.expensive || one.presentationHint === "registers")) {
      const ours = target.session.references.give("variables", target, number);
      rows.push({ name, more: `not shown; debug_get_variable with variablesReference=${ours} has them` });
    } else rows.push({ name, ...(await tree(target, number, depth, room)) });
  }
  return { sessionId: target.id, scopes: rows };
}

/** Members of a variable, by pages. */
async function getVariable(debug: Debugger, params: Body): Promise<Values> {
  const { start = 0, count = 100 } = params;
  if (start < 0 || count < 1 || count > 5000) {
    throw new Fault("E_INVALID_PARAMS", "start is at least 0, count from 1 to 5000", "call again with others");
  }
  const [target, number] = debug.references.take("variables", params.variablesReference);
  const only = (params.filter ?? "all") === "all" ? undefined : params.filter;
  const found = await fetch(target, number, { start, count: count + 1, only });
  const told: Values = {
    sessionId: target.id,
    start,
    variables: found.slice(0, count).map((one) => tell(target, one)),
  };
  const more = found.length > count ? `call with start=${start + count}` : hidden(found);
  return { ...told, ...(more ? { more } : {}) };
}

/** Gives a variable another value, written in the program's language. */
async function setVariable(debug: Debugger, params: Body): Promise<Values> {
  const { name } = params;
  let target: Target;
  let reference: number | undefined;
  if (params.variablesReference !== undefined) {
    [target, reference] = debug.references.take("variables", params.variablesReference);
    const number = reference;
    if ((await fetch(target, number)).every((one) => one.name !== name)) throw notFound(name);
  } else {
    let frame: number | undefined;
    [target, frame] = debug.frame(params.frameId, params.sessionId);
    reference = await findInScopes(target, frame, name);
    if (reference === undefined) return await setExpression(target, frame, name, literal(target, params.value));
  }
  const value = literal(target, params.value);
  const scope = target.scopes.get(reference);
  if (target.adapter === "debugpy" && scope) {
    // Here debugpy would keep the old value without a word if the new one cannot be evaluated.
    const place = scope[1] === "Globals" ? `globals()[${JSON.stringify(name)}]` : name;
    return { ...(await setExpression(target, scope[0], place, value)), name };
  }
  try {
    return wasSet(
      target,
      name,
      await target.ask("setVariable", { variablesReference: reference, name, value }, 10_000),
    );
  } catch (error) {
    throw setFailed(name, error);
  }
}

/** The value of an expression where the program stands. */
async function evaluate(debug: Debugger, params: Body, job: Job): Promise<Values> {
  const [target, frame] = debug.frame(params.frameId, params.sessionId);
  let found: Body;
  try {
    found = await askValue(target, frame, params.expression, params.context ?? "repl", params.timeoutMs ?? 10_000, job);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    throw new Fault(
      "E_INVALID_EXPRESSION",
      `${quoted(params.expression)}: ${gist(error.message)}`,
      "debug_list_variables shows what can be named here",
    );
  }
  const result = String(found.result ?? "");
  const told: Values = { sessionId: target.id, result: result.slice(0, RESULT) };
  if (result.length > RESULT) {
    const cut = result.length - RESULT;
    told.resultCut = `${cut} characters more; debug_save_variable writes large values to a file`;
  }
  if (found.type) told.type = found.type;
  if (found.variablesReference) {
    told.variablesReference = target.session.references.give("variables", target, Number(found.variablesReference));
  }
  return { ...told, ...target.session.output.take() };
}

/** Has an expression evaluated. Nobody can take it back: if it takes too long, that is said. */
export async function askValue(
  target: Target,
  frame: number | undefined,
  expression: string,
  context: string,
  milliseconds: number,
  job: Job,
): Promise<Body> {
  const frameId = frame ?? (await topFrame(target));
  target.session.recorder.write(target.id, "command", { command: "evaluate", expression: expression.slice(0, 500) });
  target.evaluating = expression;
  const answer = target.post("evaluate", { expression, frameId, context }).finally(() => {
    target.evaluating = undefined;
    target.session.signal.fire();
  });
  answer.catch(() => {});
  try {
    return await within(answer, milliseconds, job.cancelled);
  } catch (error) {
    if (error instanceof TooLate) {
      throw new Fault(
        "E_TIMEOUT",
        `${quoted(expression)} still runs in the program after ${milliseconds / 1000} s and cannot be taken back`,
        "wait and call again; debug_stop ends the program",
        { sessionId: target.id },
        true,
      );
    }
    if (error instanceof Cancelled) {
      throw new Fault(
        "E_CANCELLED",
        `no longer waiting for ${quoted(expression)}; it still runs in the program`,
        "calls answer E_BUSY until it is done; debug_stop ends the program",
        { sessionId: target.id },
      );
    }
    throw error;
  }
}

/** The adapter's id of the innermost frame. */
async function topFrame(target: Target): Promise<number> {
  if (!target.stop) throw new Gone("stackTrace");
  if (target.stop.frame !== undefined) return target.stop.frame;
  const thread = await threadOf(target, target.stop);
  const found = await target.ask("stackTrace", { threadId: thread, startFrame: 0, levels: 1 });
  if (!found.stackFrames?.length) {
    throw new Fault("E_NO_STACK", `session ${target.id} stands in no frame`, "call debug_threads");
  }
  return Number(found.stackFrames[0].id);
}

async function scopesOf(target: Target, frame: number | undefined): Promise<Body[]> {
  return await target.askScopes(frame ?? (await topFrame(target)));
}

/** The scope that has a variable of that name; none if it is no name at all but an expression. */
async function findInScopes(target: Target, frame: number | undefined, name: string): Promise<number | undefined> {
  for (const scope of await scopesOf(target, frame)) {
    const reference = Number(scope.variablesReference);
    if ((await fetch(target, reference)).some((one) => one.name === name)) return reference;
  }
  if (/^\w+$/.test(name)) throw notFound(name);
  return undefined;
}

async function setExpression(target: Target, frame: number | undefined, name: string, value: string): Promise<Values> {
  if (!target.capabilities.supportsSetExpression) throw notFound(name);
  const frameId = frame ?? (await topFrame(target));
  try {
    return wasSet(target, name, await target.ask("setExpression", { expression: name, value, frameId }, 10_000));
  } catch (error) {
    throw setFailed(name, error);
  }
}

function wasSet(target: Target, name: string, answer: Body): Values {
  const told = tell(target, { ...answer, name, value: answer.value ?? answer.result ?? "" });
  return { success: true, sessionId: target.id, ...told };
}

function notFound(name: string): Fault {
  return new Fault(
    "E_VARIABLE_NOT_FOUND",
    `no variable is called ${quoted(name)} here`,
    "debug_list_variables shows those there are",
  );
}

function setFailed(name: string, error: unknown): unknown {
  if (!(error instanceof Refused)) return error;
  return new Fault(
    "E_SET_FAILED",
    `cannot set ${quoted(name)}: ${gist(error.message)}`,
    "give the value as the program's language writes it: texts in quotes",
  );
}

/** A value as the program's language writes it. A text is taken as it is. */
function literal(target: Target, value: unknown): string {
  if (typeof value === "string") return value;
  const words: Record<string, string> = { true: "True", false: "False", null: "None" };
  const written = JSON.stringify(value ?? null);
  return target.adapter === "debugpy" ? (words[written] ?? written) : written;
}

/** How to get what debugpy does not list: it shows the first of many and then how many there are. */
function hidden(found: Body[]): string {
  const last = found.at(-1) ?? {};
  if (last.name !== "len()" || !/^\d+$/.test(String(last.value ?? ""))) return "";
  const total = Number(last.value);
  const expression = String(last.evaluateName ?? "")
    .replace(/^len\(/, "")
    .replace(/\)$/, "");
  if (total <= found.length - 1 || !expression) return "";
  return `${total} in all; debug_evaluate ${expression}[…] shows others; debug_save_variable writes all to a file`;
}

export const SCRIPTS: Record<string, Script> = {
  "debug.stack": stack,
  "debug.scopes": scopes,
  "debug.list-variables": listVariables,
  "debug.get-variable": getVariable,
  "debug.set-variable": setVariable,
  "debug.evaluate": evaluate,
};
