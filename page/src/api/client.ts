/** Calls of the server, typed by what its endpoints ask and answer. */

import type { Actions, PageError, ProjectsPage, Reads } from "./types";

const READ_TIMEOUT_MS = 30_000;
const ACT_TIMEOUT_MS = 180_000;

/** The codes of errors that the page itself finds out. */
export const SIGNED_OUT = "E_SIGN_IN";
export const UNREACHABLE = "E_UNREACHABLE";

/** Why a call failed, and the next step. */
export class ApiError extends Error {
  readonly code: string;
  readonly hint: string;
  readonly status: number;

  constructor(error: PageError, status: number) {
    super(error.message);
    this.name = "ApiError";
    this.code = error.code;
    this.hint = error.hint;
    this.status = status;
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
  ): Promise<Actions[Name]["answer"]> {
    const init = {
      method: "POST",
      headers: { "content-type": "application/json", "x-binnacle-page": "1" },
      body: JSON.stringify(asked),
    };
    return call(`/api/${project}/${name}`, init, ACT_TIMEOUT_MS, signal);
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

async function call<Answer>(
  address: string,
  init: RequestInit,
  timeout: number,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  const timedOut = AbortSignal.timeout(timeout);
  let response: Response;
  let body: unknown;
  try {
    response = await fetch(address, { ...init, signal: signal ? AbortSignal.any([signal, timedOut]) : timedOut });
    body = await response.json().catch(() => undefined);
  } catch (error) {
    if (isAborted(error)) throw error;
    throw new ApiError(
      {
        code: UNREACHABLE,
        message: timedOut.aborted ? "the server did not answer in time" : "the server does not answer",
        hint: "is it still running? start it again with: bn gui",
      },
      0,
    );
  }
  if (!response.ok) throw new ApiError(errorIn(body, response.status), response.status);
  return body as Answer;
}

function errorIn(body: unknown, status: number): PageError {
  if (typeof body === "object" && body !== null && "code" in body && "message" in body) {
    const hint = "hint" in body ? String(body.hint) : "";
    return { code: String(body.code), message: String(body.message), hint };
  }
  const code = status === 401 ? SIGNED_OUT : "E_INTERNAL";
  return { code, message: `the server answered with status ${status}`, hint: "try again, or reload the page" };
}
