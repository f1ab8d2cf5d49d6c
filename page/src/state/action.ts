// Doing something on the server in components.
import { useRef, useState } from "preact/hooks";
import { api, type ApiError } from "../api/client";
import type { Actions } from "../api/types";
import { useAddress } from "../router";
import { asApiError } from "./faults";
import { showError, showToast } from "./messages";

export interface ActionOptions {
  /** What is said when it is done. */
  done?: string;
  /** Where an error is shown: in a message of the page, or where the caller puts `error`. */
  errors?: "message" | "inline";
  /** Milliseconds that it may take, if that is more than usual. */
  timeout?: number;
}

export interface PageAction<Asked, Answer> {
  /** Does it, and returns the answer; undefined if it was refused, or one is still on its way. */
  run: (asked: Asked) => Promise<Answer | undefined>;
  isPending: boolean;
  error: ApiError | null;
  clearError: () => void;
}

/** An action that is on its way at most once, and says what went wrong. Disable its button while `isPending`. */
export function useAction<Name extends keyof Actions>(
  name: Name,
  { done, errors = "message", timeout }: ActionOptions = {},
): PageAction<Actions[Name]["asked"], Actions[Name]["answer"]> {
  const { project } = useAddress();
  const [isPending, setPending] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const isRunning = useRef(false);

  async function run(asked: Actions[Name]["asked"]): Promise<Actions[Name]["answer"] | undefined> {
    if (isRunning.current) return undefined;
    isRunning.current = true;
    setPending(true);
    setError(null);
    try {
      const answer = await api.act(project, name, asked, undefined, timeout);
      if (done) showToast(done);
      return answer;
    } catch (problem) {
      const refused = asApiError(problem);
      setError(refused);
      if (errors === "message") showError(refused);
      return undefined;
    } finally {
      isRunning.current = false;
      setPending(false);
    }
  }
  return { run, isPending, error, clearError: () => setError(null) };
}
