// The one place that asks the server.
import type { Actions, ProjectList, Reads } from "./types";

export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string,
    readonly status: number,
  ) {
    super(message);
  }
}

export const api = {
  projects: (): Promise<ProjectList> => ask("/api/projects"),

  read<Name extends keyof Reads>(project: string, name: Name, asked: Reads[Name]["asked"]): Promise<Reads[Name]["answer"]> {
    return ask(`/api/${encodeURIComponent(project)}/${name}${formatQuery(asked)}`);
  },

  act<Name extends keyof Actions>(project: string, name: Name, asked: Actions[Name]): Promise<never> {
    const body = JSON.stringify(asked);
    return ask(`/api/${encodeURIComponent(project)}/${String(name)}`, { method: "POST", body, headers: { "content-type": "application/json" } });
  },
};

function formatQuery(asked: object): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(asked)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one != null) query.append(name, String(one));
  }
  const text = query.toString();
  return text ? `?${text}` : "";
}

async function ask<Answer>(address: string, options?: RequestInit): Promise<Answer> {
  const response = await fetch(address, { cache: "no-store", ...options }).catch(() => {
    throw new ApiError("E_UNREACHABLE", "the server does not answer", "start it again: bn gui", 0);
  });
  const answer: unknown = await response.json().catch(() => null);
  if (response.ok) return answer as Answer;
  const said = (answer ?? {}) as { code?: string; message?: string; hint?: string };
  throw new ApiError(said.code ?? "E_HTTP", said.message ?? `the server answered ${response.status}`, said.hint ?? "", response.status);
}
