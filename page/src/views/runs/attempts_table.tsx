// The attempts of a run, newest first: what each led to, why, and what it took.
import type { JSX } from "preact";
import type { RunAttempt, RunDetails } from "../../api/types";
import { Age, formatDuration } from "../../parts/age";
import { EmptyView } from "../../parts/notes";
import { Table } from "../../parts/table";
import { setFilters, taskAddress } from "../../router";
import { moneyWords, Outcome, tokenWords } from "./run_words";

export function AttemptsTable({ details }: { details: RunDetails }): JSX.Element {
  if (!details.attempts.length) return <EmptyView title="Nothing was tried yet." />;
  const workers = new Map(details.workers.map((one) => [one.session, one.number]));
  const left = details.attempts_total - details.attempts.length;
  return (
    <>
      <Table<RunAttempt>
        label="Attempts of the run"
        rows={details.attempts}
        keyOf={({ iteration }) => `${iteration.session} ${iteration.number}`}
        columns={[
          { title: "Task", render: (one) => <AttemptedTask attempt={one} /> },
          { title: "Outcome", render: ({ iteration }) => <Outcome outcome={iteration.outcome ?? ""} isOver={Boolean(iteration.ended_at)} /> },
          { title: "Why, or what was done", render: ({ iteration }) => <AttemptWords reason={iteration.outcome === "done" ? "" : iteration.reason ?? ""} summary={iteration.summary ?? ""} /> },
          { title: "Worker", render: ({ iteration }) => workers.get(iteration.session) ?? "", isNumber: true },
          { title: "Agent", render: ({ iteration }) => [iteration.agent, iteration.model].filter(Boolean).join(" ") },
          { title: "Begun", render: ({ iteration }) => <Age at={iteration.started_at} /> },
          { title: "Time", render: ({ iteration }) => (iteration.seconds ? formatDuration(iteration.seconds) : ""), isNumber: true },
          { title: "Tokens", render: ({ iteration }) => (iteration.tokens ? tokenWords(iteration.tokens) : ""), isNumber: true },
          { title: "Cost", render: ({ iteration }) => (iteration.currency ? moneyWords(iteration.cost ?? 0, iteration.currency) : ""), isNumber: true },
          { title: "Commit", render: ({ iteration }) => iteration.commit_id && <code>{iteration.commit_id.slice(0, 8)}</code> },
        ]}
      />
      {left > 0 && <p class="muted">{left} earlier attempts are not shown.</p>}
    </>
  );
}

function AttemptedTask({ attempt }: { attempt: RunAttempt }): JSX.Element {
  const { iteration, title } = attempt;
  const show = () => setFilters({ tab: "replay", session: iteration.session, at: String(iteration.number) });
  const name = iteration.number === 0 || iteration.plans ? `Planning ${iteration.plans ?? ""}` : title || iteration.task_started || "";
  return (
    <>
      {iteration.task_started ? <a href={taskAddress(iteration.task_started)}>{name}</a> : name}{" "}
      <button type="button" class="link-button" onClick={show}>
        replay
      </button>
    </>
  );
}

function AttemptWords({ reason, summary }: { reason: string; summary: string }): JSX.Element {
  return (
    <div class="attempt-words">
      {reason && <p>{reason}</p>}
      {summary && summary !== reason && <p class="muted">{summary}</p>}
    </div>
  );
}
