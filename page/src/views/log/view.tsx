// The log: what happened, as sentences, as it happens.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LogQuery } from "../../api/types";
import { EmptyView, ErrorNote, LoadingNote } from "../../parts/notes";
import { WindowedList } from "../../parts/windowed_list";
import { type Filters, setFilters, useAddress } from "../../router";
import { useCommands } from "../../state/commands";
import { announce } from "../../state/messages";
import { LogFilters } from "./log_filters";
import { useLogEntries } from "./log_entries";
import { LogRow } from "./log_row";

const ROW_PX = 44;

export default function LogView(): JSX.Element {
  const { filters } = useAddress();
  const [isPaused, setPaused] = useState(false);
  const query = useMemo(() => makeQuery(filters), [JSON.stringify(filters)]);
  const { entries, isComplete, isLoading, error, loadOlder, loadNewer } = useLogEntries(query, isPaused);
  const pause = () => {
    setPaused(!isPaused);
    announce(isPaused ? "The log goes on." : "The log is paused.");
  };
  useCommands([{ title: isPaused ? "Go on with the log" : "Pause the log", group: "Log", keys: "p", run: pause }]);
  // A rare word may be far down: each answer looks through a part of the log only. And whoever came to the end while
  // something else was read has not been answered yet.
  const lastShown = useRef(0);
  useEffect(() => {
    const isAtEnd = entries.length < 20 || lastShown.current >= entries.length;
    if (isAtEnd && !isComplete && !isLoading && !error) loadOlder();
  }, [entries.length, isComplete, isLoading]);
  const isFiltered = Object.values(filters).some(Boolean);
  return (
    <div class="log-view">
      <header class="view-head">
        <h1>Log</h1>
        {isFiltered && (
          <button type="button" class="link-button" onClick={() => setFilters(Object.fromEntries(Object.keys(filters).map((name) => [name, ""])))}>
            Show everything
          </button>
        )}
        <button type="button" class="button" aria-pressed={isPaused} onClick={pause}>
          {isPaused ? "Go on" : "Pause"}
        </button>
      </header>
      <LogFilters />
      {error && <ErrorNote error={error} onRetry={loadNewer} />}
      {entries.length === 0 && isComplete && !error && (
        <EmptyView title={isFiltered ? "Nothing in the log fits." : "Nothing happened yet."} />
      )}
      {entries.length === 0 && !isComplete && !error && <LoadingNote what={isFiltered ? "Looking through the log" : "Loading"} />}
      {entries.length > 0 && (
        <WindowedList
          class="log-list"
          label="What happened, the newest first"
          count={entries.length + (isComplete ? 0 : 1)}
          keyOf={(index) => String(entries[index]?.seq ?? "older")}
          rowHeight={ROW_PX}
          onRange={(_, last) => {
            lastShown.current = last;
            if (last >= entries.length) loadOlder();
          }}
          renderRow={(index) => {
            const entry = entries[index];
            return entry ? <LogRow entry={entry} /> : <p class="log-older muted">{isLoading ? "Reading older events…" : "Older events follow."}</p>;
          }}
        />
      )}
    </div>
  );
}

const AGO: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The filters of the address as the server wants them: `24h` becomes a time. */
function makeQuery(filters: Filters): LogQuery {
  const { entity = "", action = "", actor = "", about = "", text = "", since = "", until = "" } = filters;
  const query: LogQuery = { entity, action, actor, about, text };
  const [from, to] = [parseTime(since), parseTime(until)];
  return { ...query, ...(from && { since: from }), ...(to && { until: to }) };
}

function parseTime(text: string): string | null {
  const ago = /^(\d{1,5})([mhd])$/.exec(text);
  const time = ago ? Date.now() - Number(ago[1]) * (AGO[ago[2] ?? ""] ?? 0) : Date.parse(text);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
