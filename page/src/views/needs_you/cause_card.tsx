// One thing that waits for the person: what happened, what was tried, and the decision.
import type { ComponentChildren, JSX } from "preact";
import type { OpenCause } from "../../api/types";
import { Age } from "../../parts/age";
import { Badge, type BadgeTone } from "../../parts/badge";
import { CodeText } from "../../parts/code_text";
import { DiffText } from "../../parts/diff/diff_text";
import { splitHidden } from "../../parts/diff/visible_text";
import { Markdown } from "../../parts/markdown";
import { formatAddress, taskAddress } from "../../router";
import { EndedDecision, PermissionDecision, QuestionDecision, StuckDecision } from "./decisions";
import { ReviewDecision } from "./review_decision";
import { TriedSection } from "./tried_section";

const KINDS: Readonly<Record<OpenCause["kind"], readonly [string, BadgeTone]>> = {
  permission: ["Permission", "warning"],
  question: ["Question", "info"],
  stuck: ["Stuck", "bad"],
  review: ["Review", "info"],
  ended: ["Run ended", "neutral"],
};

export interface CauseCardProps {
  cause: OpenCause;
  /** Called with true when an answer is on its way, and with false if it was refused. */
  onAnswered: (isKept: boolean) => void;
}

export function CauseCard({ cause, onAnswered }: CauseCardProps): JSX.Element {
  const [kind, tone] = KINDS[cause.kind];
  return (
    <CardFrame id={cause.id} kind={kind} tone={tone} title={cause.title} at={cause.at}>
      <CauseFacts cause={cause} />
      <CauseBody cause={cause} />
      <TriedSection cause={cause} />
      <Decision cause={cause} onAnswered={onAnswered} />
    </CardFrame>
  );
}

export interface CardFrameProps {
  id: string;
  kind: string;
  tone: BadgeTone;
  title: string;
  at?: string;
  children: ComponentChildren;
}

export function CardFrame({ id, kind, tone, title, at, children }: CardFrameProps): JSX.Element {
  return (
    <article class="cause-card card-box" aria-labelledby={`cause-${id}`}>
      <header>
        <Badge tone={tone}>{kind}</Badge>
        <h2 id={`cause-${id}`} tabIndex={-1}>
          {splitHidden(title)}
        </h2>
        {at && <Age at={at} />}
      </header>
      {children}
    </article>
  );
}

/** Where it comes from. */
function CauseFacts({ cause }: { cause: OpenCause }): JSX.Element | null {
  const { task, run, agent } = cause;
  if (!task && !run && !agent) return null;
  return (
    <p class="cause-facts muted">
      {task && (
        <span>
          Task <a href={taskAddress(task.id)}>{splitHidden(task.title)}</a>
        </span>
      )}
      {run && (
        <span>
          Run <a href={formatAddress({ view: "runs", rest: [run] })}>{splitHidden(run)}</a>
        </span>
      )}
      {agent && <span>Asked by {splitHidden(agent)}</span>}
      {cause.is_blocking && <span>The task waits for your answer.</span>}
    </p>
  );
}

function CauseBody({ cause }: { cause: OpenCause }): JSX.Element | null {
  const body = (cause.body ?? "").trim();
  if (cause.kind === "permission") {
    const [first = "", ...rest] = body.split("\n");
    const what = first.startsWith("kind: ") ? rest.join("\n") : body;
    return what ? <DiffText text={what} label="What it wants to do" /> : null;
  }
  if (!body || body === cause.title.trim()) return null;
  if (cause.kind === "review" || cause.kind === "ended") return <p class="cause-body">{splitHidden(body)}</p>;
  if (cause.kind === "stuck") return cause.attempts ? null : <CodeText text={body} maxLines={8} label="What happened" />;
  return <Markdown text={body.startsWith(`${cause.title}\n`) ? body.slice(cause.title.length + 1) : body} />;
}

function Decision({ cause, onAnswered }: CauseCardProps): JSX.Element {
  switch (cause.kind) {
    case "permission":
      return <PermissionDecision cause={cause} onAnswered={onAnswered} />;
    case "question":
      return <QuestionDecision cause={cause} onAnswered={onAnswered} />;
    case "stuck":
      return <StuckDecision cause={cause} onAnswered={onAnswered} />;
    case "review":
      return <ReviewDecision cause={cause} onAnswered={onAnswered} />;
    case "ended":
      return <EndedDecision cause={cause} onAnswered={onAnswered} />;
  }
}
