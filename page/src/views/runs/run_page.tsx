// One run: how it stands, what waits for a person, what its agents say, its attempts, merges and events.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { RunDetails, RunWorker } from "../../api/types";
import { formatDuration } from "../../parts/age";
import { ErrorNote, LoadingNote } from "../../parts/notes";
import { Tabs } from "../../parts/tabs";
import { formatAddress, setFilters, taskAddress, useAddress } from "../../router";
import { useCommands } from "../../state/commands";
import { usePolling } from "../../state/polling";
import { useRead } from "../../state/read";
import { AttemptsTable } from "./attempts_table";
import { MergeQueue } from "./merge_queue";
import { ReplayPanel } from "./replay_panel";
import { RunActions } from "./run_actions";
import { RunEvents } from "./run_events";
import { BudgetMeter, costWords, RUN_POLL_MS, RunState, tokenWords } from "./run_words";
import { SpecificationText } from "./specification_text";
import { TranscriptPanel } from "./transcript_panel";
import { WaitingList } from "./waiting_list";

const ENTITIES = ["run", "session", "attention", "task", "review", "question", "evidence", "report"];

export function RunPageView({ name }: { name: string }): JSX.Element {
  const { answer, error, reload } = useRead("run", { run: name }, { on: ENTITIES });
  usePolling(reload, RUN_POLL_MS, (answer?.details.listed.driven ?? 0) > 0);
  if (!answer) return error ? <ErrorNote error={error} onRetry={reload} /> : <LoadingNote what="Loading the run" />;
  return <LoadedRun details={answer.details} here={answer.here} />;
}

function LoadedRun({ details, here }: { details: RunDetails; here: readonly string[] }): JSX.Element {
  const { filters } = useAddress();
  const { listed, workers } = details;
  const worker = chooseWorker(workers, filters.session);
  const choose = (next: string) => setFilters({ tab: next === "live" ? "" : next });
  const tabs = useMemo(() => tabsOf(details), [details]);
  const tab = tabs.find((one) => one.name === filters.tab)?.name ?? "live";
  useCommands(tabs.map((one, index) => ({ title: `Show ${one.title.toLowerCase()}`, group: "Run", keys: String(index + 1), run: () => choose(one.name) })));
  return (
    <section class="run-page">
      <header class="view-head">
        <h1>
          <a class="up-link" href={formatAddress({ view: "runs" })}>
            Runs
          </a>{" "}
          <span aria-hidden="true">/</span> {listed.run.name}
        </h1>
        <RunState listed={listed} />
        <RunActions details={details} />
      </header>
      {listed.state === "ended" && listed.run.said && <p class="run-said">{listed.run.said}</p>}
      {listed.state === "interrupted" && (
        <p class="run-said">
          No process drives this run any more: it was killed, or its machine is gone. Nothing is lost; resume it to go on where it was.
        </p>
      )}
      <RunFacts details={details} />
      <WaitingList run={listed.run.name} />
      <WorkerBar workers={workers} chosen={worker} />
      <Tabs label="Parts of the run" tabs={tabs} chosen={tab} onChoose={choose}>
        {tab === "live" && worker && <TranscriptPanel details={details} worker={worker} isHere={here.includes(worker.session)} />}
        {tab === "replay" && worker && <ReplayPanel key={worker.session} details={details} worker={worker} isHere={here.includes(worker.session)} />}
        {tab === "attempts" && <AttemptsTable details={details} />}
        {tab === "merges" && <MergeQueue details={details} />}
        {tab === "events" && <RunEvents run={listed.run.id} />}
        {tab === "asked" && <SpecificationText run={listed.run.id} />}
      </Tabs>
    </section>
  );
}

function tabsOf(details: RunDetails): { name: string; title: string; count?: number }[] {
  return [
    { name: "live", title: details.listed.driven ? "Live" : "Transcript" },
    { name: "replay", title: "Replay" },
    { name: "attempts", title: "Attempts", count: details.attempts_total },
    { name: "merges", title: "Merge queue", count: details.merges.length },
    { name: "events", title: "Events" },
    ...(details.has_specification ? [{ name: "asked", title: "Specification" }] : []),
  ];
}

/** The one of the address, or else one that works, or else the first. */
function chooseWorker(workers: readonly RunWorker[], session: string | undefined): RunWorker | undefined {
  return (
    workers.find((one) => one.session === session) ??
    workers.find((one) => one.is_driven && one.stage !== "resting") ??
    workers[0]
  );
}

function RunFacts({ details }: { details: RunDetails }): JSX.Element {
  const { listed, budget } = details;
  const { run, spent } = listed;
  const capped = new Set(budget.map((one) => one.kind));
  const cost = costWords(spent);
  const facts: (readonly [string, string])[] = [
    ["Tasks", listed.tried ? `${listed.closed} of ${listed.tried} closed` : ""],
    ["Iterations", capped.has("iterations") || !spent ? "" : String(spent.iterations)],
    ["Time", capped.has("minutes") || !run.seconds ? "" : formatDuration(run.seconds)],
    ["Tokens", capped.has("tokens") || !spent?.tokens ? "" : tokenWords(spent.tokens)],
    ["Cost", capped.has("cost") ? "" : cost],
    ["Agents", details.by_agent.map((one) => one.key).join(", ")],
    ["Models", details.by_model.map((one) => one.key).filter((key) => !key.startsWith("(")).join(", ")],
    ["Branch", run.branch],
  ];
  return (
    <dl class="run-facts-row">
      {budget.map((use) => (
        <BudgetMeter key={use.kind} use={use} />
      ))}
      {facts
        .filter(([, value]) => value)
        .map(([title, value]) => (
          <div class="fact" key={title}>
            <dt>{title}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

const STAGES: Record<string, string> = { planning: "plans", working: "works", settling: "is checked and merged", resting: "waits" };

function WorkerBar({ workers, chosen }: { workers: readonly RunWorker[]; chosen: RunWorker | undefined }): JSX.Element | null {
  if (!workers.length) return null;
  return (
    <ul class="worker-bar" aria-label="Workers">
      {workers.map((one) => (
        <li key={one.session}>
          <button
            type="button"
            class={`worker ${one.is_driven ? one.stage : "ended"}`}
            aria-pressed={one === chosen}
            onClick={() => setFilters({ session: one.session })}
          >
            <span class="worker-light" aria-hidden="true" />
            <span class="worker-name">Worker {one.number}</span>
            <span class="worker-stage">{one.is_driven ? STAGES[one.stage] : "is not running"}</span>
            {one.title && <span class="worker-task">{one.title}</span>}
            {one.place && <span class="worker-place muted" title={one.place}>{one.place.split(":")[0]}</span>}
          </button>
          {one.task_id && (
            <a class="worker-link" href={taskAddress(one.task_id)}>
              {one.task_id}
            </a>
          )}
        </li>
      ))}
    </ul>
  );
}
