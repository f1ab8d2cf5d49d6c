// What was changed in a run, as sentences, newest first.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Age } from "../../parts/age";
import { ErrorNote, LoadingNote } from "../../parts/notes";
import { useRead } from "../../state/read";

const STEP = 50;
const MAX_SHOWN = 200;

export function RunEvents({ run }: { run: string }): JSX.Element {
  const [limit, setLimit] = useState(STEP);
  const { answer, error, reload } = useRead("run_events", { run, limit }, { on: "all" });
  if (!answer) return error ? <ErrorNote error={error} onRetry={reload} /> : <LoadingNote what="Loading the events" />;
  return (
    <>
      <ol class="run-events" aria-label="Events of the run">
        {answer.entries.map((one) => (
          <li key={one.seq}>
            <Age at={one.at} /> <strong>{one.actor_name}</strong> {one.sentence}
          </li>
        ))}
      </ol>
      {answer.has_more && limit < MAX_SHOWN && (
        <button type="button" class="button" onClick={() => setLimit(Math.min(MAX_SHOWN, limit * 2))}>
          Show earlier events
        </button>
      )}
    </>
  );
}
