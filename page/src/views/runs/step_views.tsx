// One step of a transcript: what an agent was told, said, thought, called, or plans.
import type { JSX } from "preact";
import { formatDuration } from "../../parts/age";
import { Badge } from "../../parts/badge";
import { Icon } from "../../parts/icon";
import { DiffText } from "../../parts/diff/diff_text";
import { splitHidden } from "../../parts/diff/visible_text";
import { Markdown } from "../../parts/markdown";
import { LongText } from "./cut_text";
import { callSeconds, type TranscriptStep } from "./transcript_steps";

export interface StepProps {
  step: TranscriptStep;
  session: string;
  /** The title of the task of its iteration. */
  title: string;
  /** Whether it belongs to what an agent does now. */
  isLive: boolean;
  /** Whether it is the last one of a session at work. */
  isNewest: boolean;
}

export function StepView(props: StepProps): JSX.Element {
  const { step } = props;
  switch (step.kind) {
    case "iteration":
      return <IterationStep {...props} />;
    case "call":
      return <CallView {...props} />;
    case "plan":
      return <PlanStep {...props} />;
    case "end":
      return <QuietStep at={step.at} text={step.text === "end_turn" ? "The agent ended its turn." : `The turn ended: ${step.text}`} />;
    case "cut":
      return <QuietStep at={step.at} text={step.text} />;
    default:
      return <SpokenStep {...props} />;
  }
}

function IterationStep({ step, title }: StepProps): JSX.Element {
  return (
    <div class="step step-iteration">
      <h2>{step.iteration === 0 ? "Planning" : `Iteration ${step.iteration}`}</h2>
      {title && <span class="step-task">{title}</span>}
      <StepTime at={step.at} />
    </div>
  );
}

const SPEAKERS: Record<string, string> = { prompt: "Prompt", message: "Agent", thought: "Thought" };
const LINES: Record<string, number> = { prompt: 5, message: 80, thought: 6 };

function SpokenStep({ step, session, isNewest }: StepProps): JSX.Element {
  const shared = { session, text: step.text, field: "text" as const, cut: step.cut.text, lines: LINES[step.kind] ?? 20 };
  return (
    <div class={`step step-${step.kind}`}>
      <div class="step-head">
        <span class="step-who">{SPEAKERS[step.kind] ?? step.kind}</span>
        <StepTime at={step.at} />
      </div>
      <LongText
        {...shared}
        label={SPEAKERS[step.kind] ?? step.kind}
        render={(text) => (step.kind === "message" ? <Markdown text={text} /> : <p class="step-words">{splitHidden(text)}</p>)}
      />
      {isNewest && step.kind !== "prompt" && <span class="caret" aria-hidden="true" />}
    </div>
  );
}

function CallView({ step, session, isLive }: StepProps): JSX.Element {
  const call = step.call!;
  const seconds = callSeconds(step);
  const shown = call.title || call.paths.join(", ") || "A tool call";
  return (
    <div class={`step step-call ${call.status}`}>
      <div class="step-head">
        <CallState status={call.status} isRunning={isLive && call.status !== ""} />
        {call.kind && <Badge tone="quiet">{call.kind}</Badge>}
        <span class="call-title">{splitHidden(shown)}</span>
        {seconds !== null && <span class="call-time">{formatDuration(seconds)}</span>}
        <StepTime at={step.at} />
      </div>
      {call.isAllowed !== null && (
        <p class="call-permission">
          <Badge tone={call.isAllowed ? "good" : "warning"}>{call.isAllowed ? "Allowed" : "Refused"}</Badge> by {call.by}
        </p>
      )}
      {call.diff && (
        <LongText session={session} text={call.diff} field="diff" cut={step.cut.diff} lines={40} label="Change" render={(text) => <DiffText text={text} label="Change" maxLines={Infinity} />} />
      )}
      {call.input && <CallPart name="Arguments" isOpen={!call.diff && call.input.length < 240} step={step} session={session} field="input" text={call.input} />}
      {call.output && <CallPart name="Result" isOpen={call.output.length < 600 || call.status === "failed"} step={step} session={session} field="output" text={call.output} />}
    </div>
  );
}

interface CallPartProps {
  name: string;
  isOpen: boolean;
  step: TranscriptStep;
  session: string;
  field: "input" | "output";
  text: string;
}

function CallPart({ name, isOpen, step, session, field, text }: CallPartProps): JSX.Element {
  const lines = text.split("\n").length;
  return (
    <details class="call-part" open={isOpen}>
      <summary>
        {name}
        {lines > 1 && <span class="muted"> {lines} lines</span>}
      </summary>
      <LongText session={session} text={text} field={field} cut={step.cut[field]} lines={14} label={name} format={field === "input" ? formatArguments : undefined} />
    </details>
  );
}

/** Arguments by name, a line each; other texts as they are. */
function formatArguments(text: string): string {
  if (!text.startsWith("{")) return text;
  try {
    const value = JSON.parse(text) as Record<string, unknown>;
    return Object.entries(value)
      .map(([name, one]) => `${name}: ${typeof one === "string" ? one : JSON.stringify(one, null, 2)}`)
      .join("\n");
  } catch {
    return text;
  }
}

function CallState({ status, isRunning }: { status: string; isRunning: boolean }): JSX.Element {
  if (status === "completed") return <span class="call-state good"><Icon name="check" /><span class="sr-only">succeeded</span></span>;
  if (status === "failed") return <span class="call-state bad"><Icon name="close" /><span class="sr-only">failed</span></span>;
  return <span class={`call-state ${isRunning ? "running" : ""}`}><span class="sr-only">{isRunning ? "running" : "no end reported"}</span></span>;
}

function PlanStep({ step }: StepProps): JSX.Element {
  return (
    <div class="step step-plan">
      <div class="step-head">
        <span class="step-who">Plan</span>
        <StepTime at={step.at} />
      </div>
      <ul>
        {step.steps.map(([words, status], index) => (
          <li key={index} class={status}>
            {words} <span class="muted">{status.replaceAll("_", " ")}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function QuietStep({ at, text }: { at: string; text: string }): JSX.Element {
  return (
    <div class="step step-quiet">
      {text} <StepTime at={at} />
    </div>
  );
}

function StepTime({ at }: { at: string }): JSX.Element {
  const time = new Date(at);
  return (
    <time class="step-time" dateTime={at} title={time.toLocaleString()}>
      {time.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" })}
    </time>
  );
}
