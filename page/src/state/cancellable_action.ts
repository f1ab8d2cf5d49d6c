// Doing something that may take minutes: it can be cancelled, and ends when the component goes away.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, ApiError, isAborted } from "../api/client";
import type { Actions } from "../api/types";
import { useAddress } from "../router";
import { toApiError } from "./errors";

export interface CancellableAction<Asked, Answer> {
  /** Does it, and returns the answer; undefined if it was refused, cancelled, or one is still on its way. */
  run: (asked: Asked) => Promise<Answer | undefined>;
  cancel: () => void;
  isPending: boolean;
  error: ApiError | null;
}

/** The server cancels what it does when the call ends, so `cancel` stops the work and not only the waiting. */
export function useCancellableAction<Name extends keyof Actions>(
  name: Name,
): CancellableAction<Actions[Name]["asked"], Actions[Name]["answer"]> {
  const { project } = useAddress();
  const [isPending, setPending] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const running = useRef<AbortController | null>(null);
  const cancel = () => running.current?.abort();
  useEffect(() => cancel, []);

  async function run(asked: Actions[Name]["asked"]): Promise<Actions[Name]["answer"] | undefined> {
    if (running.current) return undefined;
    const controller = new AbortController();
    running.current = controller;
    setPending(true);
    setError(null);
    try {
      return await api.act(project, name, asked, controller.signal);
    } catch (problem) {
      if (!isAborted(problem)) setError(toApiError(problem));
      return undefined;
    } finally {
      running.current = null;
      setPending(false);
    }
  }
  return { run, cancel, isPending, error };
}
