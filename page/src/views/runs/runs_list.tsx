// The newest runs, newest first: how each stands, what it works on and what it took.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api, ApiError } from "../../api/client";
import type { ListedRun } from "../../api/types";
import { Age, formatDuration } from "../../parts/age";
import { Icon } from "../../parts/icon";
import { EmptyView, ErrorNote, LoadingNote } from "../../parts/notes";
import { formatAddress, navigate, useAddress } from "../../router";
import { useCommands } from "../../state/commands";
import { showError } from "../../state/messages";
import { usePolling } from "../../state/polling";
import { useIsReadonly } from "../../state/projects";
import { useRead } from "../../state/read";
import { costWords, RUN_POLL_MS, RunState, tokenWords } from "./run_words";

const ENTITIES = ["run", "session", "attention", "task"];

export function RunsList(): JSX.Element {
  const { project } = useAddress();
  const isReadonly = useIsReadonly();
  const { answer, error, reload } = useRead("runs", {}, { on: ENTITIES });
  usePolling(reload, RUN_POLL_MS, answer?.runs.some((one) => one.driven > 0) ?? false);
  const [older, setOlder] = useState<{ runs: ListedRun[]; hasMore: boolean } | null>(null);
  useEffect(() => setOlder(null), [project]);
  const start = () => navigate({ view: "runs", rest: ["new"] });
  useCommands(isReadonly ? [] : [{ title: "Start a run", group: "Runs", keys: "n", run: start }]);

  const newest = answer?.runs ?? [];
  const known = new Set(newest.map((one) => one.run.id));
  const runs = [...newest, ...(older?.runs.filter((one) => !known.has(one.run.id)) ?? [])];
  const hasMore = older ? older.hasMore : answer?.has_more ?? false;
  async function showOlder(): Promise<void> {
    try {
      const page = await api.read(project, "runs", { before: runs.at(-1)?.run.id ?? "" });
      setOlder({ runs: [...(older?.runs ?? []), ...page.runs], hasMore: page.has_more });
    } catch (problem) {
      if (problem instanceof ApiError) showError(problem);
    }
  }
  return (
    <section class="runs-view">
      <header class="view-head">
        <h1>Runs</h1>
        {!isReadonly && (
          <a class="button primary" href={formatAddress({ view: "runs", rest: ["new"] })}>
            <Icon name="plus" /> Start a run
          </a>
        )}
      </header>
      {error && !answer && <ErrorNote error={error} onRetry={reload} />}
      {!answer && !error && <LoadingNote what="Loading the runs" />}
      {answer && !runs.length && (
        <EmptyView title="There was no run yet.">
          A run lets agents work on tasks, one after the other, until they are done. Start one here or with <code>bn run</code>.
        </EmptyView>
      )}
      <ul class="run-list" aria-label="Runs">
        {runs.map((one) => (
          <RunRow key={one.run.id} listed={one} />
        ))}
      </ul>
      {hasMore && (
        <button type="button" class="button" onClick={() => void showOlder()}>
          Show older runs
        </button>
      )}
    </section>
  );
}

function RunRow({ listed }: { listed: ListedRun }): JSX.Element {
  const { run, spent } = listed;
  const cost = costWords(spent);
  const facts = [
    listed.tried ? `${listed.closed} of ${listed.tried} tasks closed` : "",
    spent ? `${spent.iterations} iteration${spent.iterations === 1 ? "" : "s"}` : "",
    spent?.tokens ? `${tokenWords(spent.tokens)} tokens` : "",
    cost,
    run.seconds ? formatDuration(run.seconds) : "",
    listed.workers > 1 ? `${listed.workers} workers` : "",
  ].filter(Boolean);
  return (
    <li class={`run-row card-box ${listed.state}`}>
      <div class="run-row-head">
        <a class="run-name" href={formatAddress({ view: "runs", rest: [run.id] })}>
          {run.name}
        </a>
        <RunState listed={listed} />
        {listed.waiting > 0 && <span class="badge warning">{listed.waiting} wait{listed.waiting === 1 ? "s" : ""} for you</span>}
        <Age at={run.ended_at ?? run.created_at} />
      </div>
      {listed.working_on.length > 0 && <p class="run-now">{listed.working_on.join(" · ")}</p>}
      {!listed.working_on.length && run.said && <p class="muted run-said">{run.said}</p>}
      <p class="run-facts muted">{facts.join(" · ")}</p>
    </li>
  );
}
