// What every agent that works did last. Transcripts are files, which record no event, so they are looked at now and then.
import { useEffect } from "preact/hooks";
import { useRead } from "../../state/read";

const LOOK_AGAIN_MS = 3_000;

/** The latest step of each task that is worked on, by its id. */
export function useLatestSteps(isNeeded: boolean): ReadonlyMap<string, string> {
  const read = useRead("latest_steps", {}, { on: ["comment", "task", "session"], skip: !isNeeded });
  useEffect(() => {
    if (!isNeeded) return undefined;
    const timer = setInterval(() => document.hidden || read.reload(), LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isNeeded]);
  return new Map(read.answer?.steps.map((one) => [one.task_id, one.text]));
}
