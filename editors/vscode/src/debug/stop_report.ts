/** What an agent is told after its program went on: where it stands, with what in hand, or how it ended. */

import * as fs from "node:fs";
import * as path from "node:path";
import { Fault, type Values } from "../protocol";
import { causeOfFrame, exceptionOf, functionName } from "./adapter_dialects";
import { TooLate } from "./cancellable_wait";
import * as faults from "./debug_errors";
import { type Bound, placeOf, type Session } from "./debug_session";
import { type Body, Gone, localPath, Refused, realPath, type Stop, type Target } from "./debug_target";
import { Budget, localsOf } from "./variable_tree";

/** How many an answer shows. */
const FRAMES = 5;

/** Characters of an exception's message. */
const MESSAGE = 2000;

/** Characters of the message of a cause, which stands at each of its frames. */
const CAUSE = 200;

/** A path as it can be given back to any tool. */
export function shownPath(file: string, workspace: string): string {
  return file.startsWith(workspace.replace(/\/$/, "") + path.sep) ? path.relative(workspace, file) : file;
}

/** The answer to a call that let the program go on. */
export async function answer(session: Session, target: Target | undefined): Promise<Values> {
  if (target) {
    try {
      return await paused(session, target);
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
      // It ended while it was asked about; nothing that was heard of it is worth telling.
      await session.signal.until(() => session.isOver || undefined, 5000).catch(() => {});
    }
  }
  return session.isOver ? terminated(session) : running(session);
}

export function running(session: Session): Values {
  return { sessionId: session.id, state: "running", ...session.takeNotes(), ...session.output.take() };
}

/** How a program ended. An adapter that was killed tells nothing of that. */
export function terminated(session: Session): Values {
  if (session.how) throw faults.lost(session.id, session.how, session.output.take());
  const told: Values = { sessionId: session.id, state: "terminated", exitCode: session.exitCode };
  const missed: [string, Bound[], string][] = [
    [
      "unboundBreakpoints",
      session.unbound(),
      "no code was loaded there, so check path and line; breakpoint_list shows them",
    ],
    ["breakpointsNotHit", session.notHit(), "those lines were not run, or the condition was never true"],
  ];
  for (const [name, found, hint] of missed) {
    if (!found.length) continue;
    told[name] = found.map((one) => ({ path: shownPath(one.path, session.workspace), line: one.line }));
    told.hint = hint;
  }
  return { ...told, ...session.takeNotes(), ...session.output.take() };
}

/** Where a program stands. */
export async function paused(session: Session, target: Target): Promise<Values> {
  const { stop } = target;
  if (!stop) throw new Gone("stopped");
  const isFirst = !stop.isTold;
  stop.isTold = true;
  const told: Values = { sessionId: target.id, state: "paused", reason: stop.reason };
  const thread = await threadOf(target, stop);
  told.threadId = thread;
  if (stop.reason.includes("exception")) told.exception = await askException(target, thread, stop);
  const { frames, more, first } = await framesOf(target, thread, FRAMES).catch((error: unknown) => {
    // Some adapters have no stack for a program at its entry.
    if (error instanceof Refused) return { frames: [], more: 0, first: undefined };
    throw error;
  });
  told.frames = frames;
  if (more > 0) told.moreFrames = `${more}; debug_stack has them`;
  if (first !== undefined) Object.assign(told, await localsOf(target, first, new Budget(30, 4000)));
  if (isFirst) {
    noteHit(target, frames);
    const { reason, exception } = told;
    session.recorder.write(target.id, "stop", { reason, ...(exception ? { exception } : {}), frames });
  }
  const others = session.targets.filter((one) => one.state === "paused" && one !== target).map((one) => one.id);
  const also = others.length ? { alsoPaused: others } : {};
  return { ...told, ...also, ...session.takeNotes(), ...session.output.take() };
}

export interface Frame {
  id: number;
  name: string;
  file: string;
  line: number;
  code?: string;
  /** The message of the exception that it belongs to, if that is the cause of the one that stopped. */
  cause?: string;
}

/** Remembers at which breakpoints the program stopped. Few adapters say it. */
function noteHit(target: Target, frames: Frame[]): void {
  const top = frames[0];
  if (!top) return;
  const file = realPath(path.resolve(target.session.workspace, top.file));
  for (const one of target.bound.values()) {
    if (one.path === file && (one.boundLine ?? one.line) === top.line) target.hit.add(placeOf(one));
  }
}

/** The thread that stopped, or the first there is where none was named. */
export async function threadOf(target: Target, stop: Stop): Promise<number> {
  if (stop.thread === undefined) {
    const threads: Body[] = (await target.ask("threads")).threads ?? [];
    if (!threads.length) throw new Fault("E_NO_THREADS", `session ${target.id} has no threads`, "call debug_status");
    stop.thread = Number(threads[0].id);
  }
  return stop.thread;
}

/** Frames from the innermost on, how many there are beyond, and the adapter's id of the first. */
export async function framesOf(
  target: Target,
  thread: number,
  limit: number,
  start = 0,
): Promise<{ frames: Frame[]; more: number; first: number | undefined }> {
  const found = await target.ask("stackTrace", { threadId: thread, startFrame: start, levels: limit });
  const listed: Body[] = (found.stackFrames ?? []).filter((one: Body) => one.presentationHint !== "label");
  const frames = listed.slice(0, limit).map((one) => frameOf(target, one));
  if (start === 0 && target.stop?.thread === thread) target.stop.frame = listed[0]?.id;
  const code = start === 0 && listed[0] ? codeOf(listed[0]) : "";
  if (frames[0] && code) frames[0].code = code;
  return { frames, more: Number(found.totalFrames ?? 0) - start - frames.length, first: listed[0]?.id };
}

function frameOf(target: Target, frame: Body): Frame {
  const file = localPath(String(frame.source?.path || frame.source?.name || ""));
  const id = target.session.references.give("frame", target, Number(frame.id));
  const name = String(frame.name ?? "");
  const cause = causeOfFrame(target.adapter, name);
  return {
    id,
    name: functionName(target.adapter, name),
    file: shownPath(file, target.session.workspace),
    line: frame.line,
    ...(cause === undefined ? {} : { cause: cause.slice(0, CAUSE) }),
  };
}

/** The line where the program stands. */
function codeOf(frame: Body): string {
  try {
    const lines = fs.readFileSync(localPath(String(frame.source?.path ?? "")), "utf8").split("\n");
    return (lines[frame.line - 1] ?? "").trim().slice(0, 200);
  } catch {
    return "";
  }
}

/** What was raised. */
async function askException(target: Target, thread: number, stop: Stop): Promise<Values> {
  try {
    const info = await target.ask("exceptionInfo", { threadId: thread });
    const raised = exceptionOf(target.adapter, info, stop.text);
    const message = raised.message.slice(0, MESSAGE);
    return { ...raised, message, ...(info.breakMode ? { mode: info.breakMode } : {}) };
  } catch (error) {
    if (error instanceof Refused || error instanceof TooLate) return { message: stop.text };
    throw error;
  }
}
