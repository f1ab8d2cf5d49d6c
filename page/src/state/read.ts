// Reading from the server in components.
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";
import type { ApiError } from "../api/client";
import type { Reads } from "../api/types";
import { useAddress } from "../router";
import { type Entities, questionKey, type ReadName, reload, savedAnswer, watchAnswer } from "./answers";

export interface ReadOptions {
  /** The entities whose events make the answer old. */
  on?: Entities;
  /** Shows the answer to the question before until the new one is there; true unless told otherwise. */
  keepsPrevious?: boolean;
  /** Asks nothing, and has no answer. */
  skip?: boolean;
  whileHidden?: boolean;
  /** The project of the address unless given. */
  project?: string;
}

export interface ReadState<Answer> {
  answer: Answer | undefined;
  error: ApiError | null;
  isLoading: boolean;
  /** The answer belongs to the question asked before. */
  isPrevious: boolean;
  reload: () => void;
}

/** The answer to a question, kept up to date. While a new one is on its way, the old one stays. */
export function useRead<Name extends ReadName>(
  name: Name,
  asked: Reads[Name]["asked"],
  { on = "all", keepsPrevious = true, skip = false, whileHidden = false, project }: ReadOptions = {},
): ReadState<Reads[Name]["answer"]> {
  const [, renderAgain] = useReducer((count: number) => count + 1, 0);
  const here = useAddress().project;
  const question = { project: project ?? here, name, asked: asked as object, on, whileHidden };
  const key = skip || !question.project ? "" : questionKey(question);
  const previous = useRef<unknown>(undefined);
  useLayoutEffect(() => (key ? watchAnswer(key, question, () => renderAgain(0)) : undefined), [key]);
  const entry = key ? savedAnswer(key) : undefined;
  if (entry?.answer !== undefined) previous.current = entry.answer;
  const isPrevious = entry?.answer === undefined;
  const answer = isPrevious ? (keepsPrevious && !skip ? previous.current : undefined) : entry?.answer;
  return {
    answer: answer as Reads[Name]["answer"] | undefined,
    error: entry?.error ?? null,
    isLoading: entry ? entry.isLoading : !skip,
    isPrevious,
    reload: () => reload(key),
  };
}
