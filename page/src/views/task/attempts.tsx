// What agents tried: the attempts of runs, and what sessions reported when they ended.
import type { JSX } from "preact";
import type { Iteration, TaskAttempt, TaskPage } from "../../api/types";
import { Age, formatDuration } from "../../parts/age";
import { Badge, type BadgeTone } from "../../parts/badge";
import { formatCost } from "../../parts/cost";
import { Markdown } from "../../parts/markdown";
import { Table } from "../../parts/table";
import { formatAddress } from "../../router";
import { nameOf } from "./section_props";

const TONES: Record<string, BadgeTone> = { done: "good", "": "info", review: "info", failed: "bad", unproven: "bad", conflict: "warning" };

export function TaskAttempts({ page }: { page: TaskPage }): JSX.Element | null {
  if (page.attempts.length === 0 && page.tried.length === 0) return null;
  return (
    <section class="task-section" aria-label="Attempts">
      <h2>Attempts</h2>
      {page.attempts.length > 0 && (
        <Table
          label="Attempts of runs"
          rows={page.attempts}
          keyOf={(one) => `${one.session} ${one.number}`}
          columns={[
            { title: "When", render: (one) => <RunLink page={page} attempt={one} /> },
            { title: "Agent", render: (one) => [one.agent, one.model].filter(Boolean).join(" ") },
            { title: "Outcome", render: (one) => <Outcome attempt={one} /> },
            { title: "Time", isNumber: true, render: (one) => formatDuration(one.seconds ?? 0) },
            { title: "Tokens", isNumber: true, render: (one) => (one.tokens ? one.tokens.toLocaleString() : "") },
            { title: "Cost", isNumber: true, render: (one) => (one.currency ? formatCost({ [one.currency]: one.cost ?? 0 }) : "") },
          ]}
        />
      )}
      {page.tried.map((one) => (
        <Reported key={one.report.id} attempt={one} name={nameOf(page, one.report.author)} />
      ))}
    </section>
  );
}

function RunLink({ page, attempt }: { page: TaskPage; attempt: Iteration }): JSX.Element {
  const run = page.runs[attempt.session];
  const age = <Age at={attempt.started_at} />;
  return run ? <a href={formatAddress({ view: "runs", rest: [run] })}>{age}</a> : age;
}

function Outcome({ attempt }: { attempt: Iteration }): JSX.Element {
  const outcome = attempt.outcome ?? "";
  return (
    <>
      <Badge tone={TONES[outcome] ?? "neutral"}>{outcome || "under way"}</Badge> {attempt.reason}
    </>
  );
}

function Reported({ attempt, name }: { attempt: TaskAttempt; name: string }): JSX.Element {
  return (
    <details class="reported">
      <summary>
        {name} reported <b>{attempt.report.kind}</b> <Age at={attempt.report.created_at} />
      </summary>
      <Markdown text={attempt.said} />
    </details>
  );
}
