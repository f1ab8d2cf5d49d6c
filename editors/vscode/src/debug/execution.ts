/** Scripts that start programs, let them go on and end them. */

import * as vscode from "vscode";
import { Fault, type Job, type Values } from "../protocol";
import { Cancelled, TooLate } from "./cancellable_wait";
import * as faults from "./debug_errors";
import type { Launch, Session } from "./debug_session";
import { type Body, Gone, type Target } from "./debug_target";
import type { Debugger, Script } from "./debugger";
import { prepare } from "./launch_request";
import { answer, running, terminated } from "./stop_report";

const PATIENCE = 30_000;

/** Milliseconds for a program without breakpoints to stop or end once it is attached to. */
const ATTACHED = 1000;

/** Puts a program under the debugger and waits for its first stop. */
async function start(debug: Debugger, params: Body, job: Job): Promise<Values> {
  return await begin(debug, await prepare(params, job.workspace), params, job);
}

/** Starts what was prepared; without `wait` does not wait for what it does then. */
export async function begin(debug: Debugger, launch: Launch, params: Body, job: Job): Promise<Values> {
  await debug.health.check();
  return await debug.health.during(beginAndFollow(debug, launch, params, job));
}

async function beginAndFollow(debug: Debugger, launch: Launch, params: Body, job: Job): Promise<Values> {
  const session = debug.newSession(launch, job.workspace);
  job.progress(null, `starting ${launch.title} as session ${session.id}`);
  try {
    await debug.launch(session, job);
  } catch (error) {
    session.isTold = true;
    throw error;
  }
  try {
    return await follow(debug, session, params, job);
  } catch (error) {
    // Nobody knows its id, so nobody could end it.
    if (error instanceof Fault && error.code === "E_CANCELLED") void debug.end(session, "its start was cancelled");
    throw error;
  }
}

/** Waits for what a session does that has just begun. */
export async function follow(debug: Debugger, session: Session, params: Body, job: Job): Promise<Values> {
  debug.current = session;
  if (params.wait === false) return await now(session);
  return await first(session, params.timeoutMs ?? PATIENCE, job);
}

/** What a program does first. One that is attached to ran before, and is not expected to stop or end. */
async function first(session: Session, milliseconds: number, job: Job): Promise<Values> {
  if (session.launch.request !== "attach") return await next(session, undefined, milliseconds, job);
  const patience = vscode.debug.breakpoints.length ? milliseconds : Math.min(milliseconds, ATTACHED);
  try {
    return await next(session, undefined, patience, job);
  } catch (error) {
    if (!(error instanceof Fault && error.code === "E_TIMEOUT")) throw error;
    return { ...error.details, details: "attached; the program is running", ...running(session) };
  }
}

function resume(command: string): Script {
  return async (debug, params, job) => {
    const target = debug.target(params.sessionId);
    const { session } = target;
    debug.current = session;
    session.focus = target;
    try {
      await target.resume(command);
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
    }
    if (params.wait === false) return await now(session);
    return await next(session, target, params.timeoutMs ?? PATIENCE, job);
  };
}

/** Has a running program stand still, wherever it is; of one that stands already, says where. */
async function pause(debug: Debugger, params: Body, job: Job): Promise<Values> {
  const session = debug.session(params.sessionId);
  debug.current = session;
  const standing = session.untold() ?? debug.standing(params.sessionId);
  if (standing) {
    session.focus = standing;
    return await answer(session, standing);
  }
  const named = session.find(params.sessionId ?? "");
  const choices = named && named !== session.root ? [named] : session.live().reverse();
  const target = choices.find((one) => one.state === "running");
  if (target) {
    const threads: Body[] = (await target.ask("threads")).threads ?? [];
    await target.ask("pause", { threadId: threads[0]?.id ?? 1 });
  }
  return await next(session, undefined, params.timeoutMs ?? PATIENCE, job);
}

/** Waits for a program that was left running; tells at once of one that stands or has ended since. */
async function waitForHit(debug: Debugger, params: Body, job: Job): Promise<Values> {
  const { current } = debug;
  if (current?.isOver && !current.isTold && [undefined, current.id].includes(params.sessionId)) return endOf(current);
  const session = debug.session(params.sessionId);
  debug.current = session;
  if (!session.untold() && session.focus?.state === "paused") return await answer(session, session.focus);
  return await next(session, undefined, params.timeoutMs ?? PATIENCE, job);
}

/** Ends a program and all it started; one that was attached to goes on alone. */
async function stop(debug: Debugger, params: Body): Promise<Values> {
  const session = debug.session(params.sessionId);
  await debug.end(session, "it was stopped using debug_stop");
  session.isTold = true;
  const left = debug.live().map((one) => one.id);
  return {
    success: true,
    sessionId: session.id,
    state: "terminated",
    ...(session.launch.request === "attach" ? { details: "detached; the program goes on" } : {}),
    ...(left.length ? { sessions: left } : {}),
    ...session.output.take(),
  };
}

/** Ends a program and starts it again, also one that has ended by itself. */
async function restart(debug: Debugger, params: Body, job: Job): Promise<Values> {
  const { current } = debug;
  const over = current && [undefined, current.id].includes(params.sessionId) ? current : undefined;
  const session = over && !debug.live().length ? over : debug.session(params.sessionId);
  await debug.end(session, "it was restarted using debug_restart");
  session.isTold = true;
  return await begin(debug, session.launch, params, job);
}

/** Where a program stands, and which others there are. */
async function status(debug: Debugger, params: Body): Promise<Values> {
  const session = debug.session(params.sessionId);
  debug.current = session;
  return { ...(await now(session)), sessions: debug.live().map(overview) };
}

/** What is known of every session since this host began. */
async function tracker(debug: Debugger): Promise<Values> {
  if (!debug.sessions.size) throw faults.noSession();
  return { sessions: [...debug.sessions.values()].map((one) => ({ ...overview(one), events: one.recorder.count })) };
}

/** The threads of a program, and which of them stands at a breakpoint. */
async function threads(debug: Debugger, params: Body): Promise<Values> {
  const session = debug.session(params.sessionId);
  const live = session.live();
  const target =
    session.find(params.sessionId ?? "") ??
    (session.focus && live.includes(session.focus) ? session.focus : session.root);
  if (!target) throw faults.noSession();
  const found: Body[] = (await target.ask("threads")).threads ?? [];
  const rows = found.map((one) => ({ id: one.id, name: one.name, isStopped: one.id === target.stop?.thread }));
  return { sessionId: target.id, state: target.state, threads: rows };
}

/** An answer that waits for nothing. */
async function now(session: Session): Promise<Values> {
  if (session.isOver) return endOf(session);
  const standing = session.untold() ?? (session.focus?.state === "paused" ? session.focus : undefined);
  if (!standing) return running(session);
  session.focus = standing;
  return await answer(session, standing);
}

async function next(session: Session, resumed: Target | undefined, milliseconds: number, job: Job): Promise<Values> {
  const target = await waitForStop(session, resumed, milliseconds, job);
  if (!target) return endOf(session);
  session.focus = target;
  const told = await answer(session, target);
  session.isTold = session.isOver;
  return told;
}

/** The process that stops next; none if the program ends instead. */
async function waitForStop(
  session: Session,
  resumed: Target | undefined,
  milliseconds: number,
  job: Job,
): Promise<Target | null> {
  const known = new Map(session.targets.map((one) => [one.id, one.stop]));
  const find = (): Target | null | undefined => {
    if (session.isOver) return null;
    // Two may wait for one stop, and then both are told.
    const found = session.untold() ?? session.targets.find((one) => one.stop && one.stop !== known.get(one.id));
    if (found || resumed?.state !== "terminated") return found;
    return session.targets.find((one) => one.stop);
  };
  try {
    return await session.signal.until(find, milliseconds, job.cancelled);
  } catch (error) {
    if (error instanceof TooLate) throw faults.stillRunning(session.id, milliseconds / 1000, session.output.take());
    if (!(error instanceof Cancelled)) throw error;
    throw new Fault(
      "E_CANCELLED",
      `no longer waiting for session ${session.id}; its program is still running`,
      "call debug_wait_for_hit to wait again; call debug_pause to see where it is; call debug_stop to end it",
      { sessionId: session.id },
    );
  }
}

function endOf(session: Session): Values {
  session.isTold = true;
  return terminated(session);
}

export function overview(session: Session): Values {
  const rows = session.targets.map((one) => ({ sessionId: one.id, state: one.state, process: one.process }));
  const first = rows[0] ?? { sessionId: session.id, state: "starting", process: null };
  return {
    ...first,
    title: session.launch.title,
    adapter: session.launch.adapter,
    ...(rows.length > 1 ? { children: rows.slice(1) } : {}),
    ...(session.how ? { ended: session.how } : {}),
  };
}

export const SCRIPTS: Record<string, Script> = {
  "debug.start": start,
  "debug.continue": resume("continue"),
  "debug.step-over": resume("next"),
  "debug.step-into": resume("stepIn"),
  "debug.step-out": resume("stepOut"),
  "debug.pause": pause,
  "debug.wait-for-hit": waitForHit,
  "debug.stop": stop,
  "debug.restart": restart,
  "debug.status": status,
  "debug.threads": threads,
  "debug.tracker": tracker,
};
