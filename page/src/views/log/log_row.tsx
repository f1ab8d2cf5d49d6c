// One event: when, who, what. What exactly was recorded unfolds.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { LogEntry } from "../../api/types";
import { Age } from "../../parts/age";
import { CodeText } from "../../parts/code_text";
import { IdText } from "../../parts/id_text";
import { ErrorNote, LoadingNote } from "../../parts/notes";
import { formatAddress, setFilters } from "../../router";
import { useRead } from "../../state/read";

export function LogRow({ entry }: { entry: LogEntry }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="log-row">
      <span class="log-when muted">
        <Age at={entry.at} />
      </span>
      <p class="log-what">
        <button type="button" class="link-button log-actor" title={`Only what ${entry.actor} did`} onClick={() => setFilters({ actor: entry.actor })}>
          {entry.actor_name}
        </button>{" "}
        <IdText text={entry.sentence} />
      </p>
      <span class="log-more">
        <EntityLink entry={entry} />
        {entry.has_changes && (
          <button type="button" class="link-button" aria-expanded={isOpen} aria-label={`Details of event ${entry.seq}`} onClick={() => setOpen(!isOpen)}>
            Details
          </button>
        )}
      </span>
      {isOpen && <LogChanges entry={entry} />}
    </div>
  );
}

/** Where the thing is shown that an event is about, if the sentence does not lead there. */
function EntityLink({ entry }: { entry: LogEntry }): JSX.Element | null {
  const { entity, entity_id: id } = entry;
  if (entity === "trust" && id.startsWith("server:")) return <a href={formatAddress({ view: "upstreams", rest: [id.slice(7)] })}>Server</a>;
  if (entity === "run") return <a href={formatAddress({ view: "runs", rest: [id] })}>Run</a>;
  if (entity === "review" || entity === "review_remark") return entry.task ? <a href={formatAddress({ view: "review", rest: [entry.task] })}>Review</a> : null;
  if (entity === "attention" || entity === "question") return <a href={formatAddress({ view: "needs_you" })}>Needs you</a>;
  if (entity === "feature") return <a href={formatAddress({ view: "board", filters: { feature: id } })}>Feature</a>;
  return null;
}

function LogChanges({ entry }: { entry: LogEntry }): JSX.Element {
  const { answer, error } = useRead("event_changes", { seq: entry.seq }, { on: [] });
  return (
    <div class="log-changes">
      <p class="hint">
        Event {entry.seq}, {new Date(entry.at).toLocaleString()}: {entry.entity} {entry.entity_id} {entry.action}
        {entry.session && `, in session ${entry.session}`}
      </p>
      {error && <ErrorNote error={error} />}
      {!answer && !error && <LoadingNote />}
      {answer && <CodeText text={answer.text} label={`What event ${entry.seq} recorded`} />}
      {answer?.cut && <p class="hint">The rest is cut.</p>}
    </div>
  );
}
