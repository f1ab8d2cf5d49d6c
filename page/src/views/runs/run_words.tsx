// How a run stands, in words and colours.
import type { JSX } from "preact";
import type { BudgetUse, ListedRun, SpendingLine } from "../../api/types";
import { formatDuration } from "../../parts/age";
import { Badge, type BadgeTone } from "../../parts/badge";

/** Between two looks at a run that is driven: no event tells what it has spent, nor that its process was killed. */
export const RUN_POLL_MS = 1_000;

const ENDS: Record<string, readonly [BadgeTone, string]> = {
  complete: ["good", "Complete"],
  unproven: ["warning", "Done, not all proven"],
  interrupted: ["neutral", "Stopped"],
  budget: ["warning", "Budget used up"],
  needs_input: ["warning", "Needs a person"],
  agent_failing: ["bad", "Agent failing"],
};

export function RunState({ listed }: { listed: ListedRun }): JSX.Element {
  const { run, state } = listed;
  if (state === "working") return <Badge tone="info">Working</Badge>;
  if (state === "paused") return <Badge tone="warning">Paused</Badge>;
  if (state === "interrupted") {
    return (
      <Badge tone="bad" title="No process drives it any more. It can be resumed.">
        Interrupted
      </Badge>
    );
  }
  const [tone, words] = ENDS[run.why] ?? ["neutral", run.why ? run.why.replaceAll("_", " ") : "Ended"];
  return (
    <Badge tone={tone} title={run.said}>
      {words}
    </Badge>
  );
}

const OUTCOMES: Record<string, BadgeTone> = {
  done: "good",
  review: "info",
  partial: "warning",
  blocked: "warning",
  question: "warning",
  unproven: "warning",
  stopped: "quiet",
};

export function Outcome({ outcome, isOver }: { outcome: string; isOver: boolean }): JSX.Element {
  if (!outcome) return <Badge tone={isOver ? "quiet" : "info"}>{isOver ? "being checked" : "under way"}</Badge>;
  return <Badge tone={OUTCOMES[outcome] ?? "bad"}>{outcome}</Badge>;
}

export function costWords(spent: SpendingLine | null): string {
  const known = Object.entries(spent?.cost ?? {});
  return known.map(([currency, amount]) => moneyWords(amount, currency)).join(" + ");
}

export function moneyWords(amount: number, currency: string): string {
  const digits = amount !== 0 && Math.abs(amount) < 0.1 ? 4 : 2;
  return `${amount.toFixed(digits)} ${currency}`.trim();
}

/** `12.4 k` for 12 400. */
export function tokenWords(tokens: number | null | undefined): string {
  if (tokens === null || tokens === undefined) return "";
  if (tokens < 1_000) return String(tokens);
  return tokens < 1_000_000 ? `${(tokens / 1_000).toFixed(1)} k` : `${(tokens / 1_000_000).toFixed(2)} M`;
}

const KINDS: Record<string, string> = { iterations: "Iterations", minutes: "Time", tokens: "Tokens", cost: "Cost" };

/** A limit of a run, and how much of it is used. */
export function BudgetMeter({ use }: { use: BudgetUse }): JSX.Element {
  const share = use.limit ? use.used / use.limit : 1;
  const words = `${amountWords(use.kind, use.used)} of ${amountWords(use.kind, use.limit)}`;
  const name = KINDS[use.kind] ?? use.kind;
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>
        {words}
        <meter min={0} max={1} high={0.8} low={0.8} optimum={0} value={Math.min(1, share)} aria-label={`${name}: ${words}`} />
      </dd>
    </div>
  );
}

function amountWords(kind: string, amount: number): string {
  if (kind === "minutes") return formatDuration(amount * 60);
  if (kind === "tokens") return tokenWords(amount);
  return kind === "cost" ? amount.toFixed(2) : String(Math.round(amount));
}
