/** Calls of the server, typed by what its endpoints ask and answer. */

import type { Actions, ProjectsPage, Reads } from "./types";

const READ_TIMEOUT_MS = 30_000;
const ACT_TIMEOUT_MS = 180_000;

/** The codes of errors that the page itself finds out. */
export const SIGNED_OUT = "E_SIGN_IN";
export const UNREACHABLE = "E_UNREACHABLE";

/** Why a call failed, and the next step. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string,
    /** The HTTP status; 0 if there was no answer. */
    readonly status: number,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** Whether an error only says that its call was given up. */
export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export const api = {
  /** Every project, and whether anything may be changed. */
  projects(signal?: AbortSignal): Promise<ProjectsPage> {
    return call<ProjectsPage>("/api/projects", {}, READ_TIMEOUT_MS, signal);
  },

  /** What an endpoint of a project reads. */
  read<Name extends keyof Reads>(
    project: string,
    name: Name,
    asked: Reads[Name]["asked"],
    signal?: AbortSignal,
  ): Promise<Reads[Name]["answer"]> {
    const query = queryOf(asked);
    return call(`/api/${project}/${name}${query && `?${query}`}`, {}, READ_TIMEOUT_MS, signal);
  },

  /** Does something in a project as the person who is signed in. */
  act<Name extends keyof Actions>(
    project: string,
    name: Name,
    asked: Actions[Name]["asked"],
    signal?: AbortSignal,
    timeout = ACT_TIMEOUT_MS,
  ): Promise<Actions[Name]["answer"]> {
    const init = {
      method: "POST",
      headers: { "content-type": "application/json", "x-binnacle-page": "1" },
      body: JSON.stringify(asked),
    };
    return call(`/api/${project}/${name}`, init, timeout, signal);
  },
};

/** Arguments as the server reads them from a query. What is not given is left out. */
export function queryOf(asked: object): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(asked) as [string, unknown][]) {
    if (value === undefined || value === null) continue;
    if (Array.isArray(value) && value.every(isPlain)) {
      for (const one of value) query.append(name, String(one));
    } else {
      query.append(name, isPlain(value) ? String(value) : JSON.stringify(value));
    }
  }
  return query.toString();
}

function isPlain(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

async function call<Answer>(address: string, init: RequestInit, timeoutMs: number, signal?: AbortSignal): Promise<Answer> {
  const timeout = AbortSignal.timeout(timeoutMs);
  let response: Response;
  let body: unknown;
  try {
    response = await fetch(address, { ...init, signal: signal ? AbortSignal.any([signal, timeout]) : timeout });
    body = await response.json().catch(() => undefined);
  } catch (error) {
    if (isAborted(error)) throw error;
    const message = timeout.aborted ? "the server did not answer in time" : "the server does not answer";
    throw new ApiError(UNREACHABLE, message, "is it still running? start it again: bn gui", 0);
  }
  if (!response.ok) throw errorIn(body, response.status);
  return body as Answer;
}

function errorIn(body: unknown, status: number): ApiError {
  if (typeof body === "object" && body !== null && "code" in body && "message" in body) {
    return new ApiError(String(body.code), String(body.message), "hint" in body ? String(body.hint) : "", status);
  }
  const code = status === 401 ? SIGNED_OUT : "E_INTERNAL";
  return new ApiError(code, `the server answered with status ${status}`, "try again, or reload the page", status);
}
