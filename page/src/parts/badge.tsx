// Short words with a colour: states, priorities, and how well it is known that something is done.
import type { ComponentChildren, JSX } from "preact";

export type BadgeTone = "neutral" | "info" | "good" | "warning" | "bad" | "quiet";

export interface BadgeProps {
  children: ComponentChildren;
  tone?: BadgeTone;
  title?: string;
}

export function Badge({ children, tone = "neutral", title }: BadgeProps): JSX.Element {
  return (
    <span class={`badge ${tone}`} title={title}>
      {children}
    </span>
  );
}

const LEVELS: Record<string, readonly [BadgeTone, string]> = {
  said: ["quiet", "Somebody said that it is done. No check was asked for."],
  observed: ["warning", "Checks passed in the tree of the agent."],
  checked: ["good", "Checks passed on a clean checkout of the commit."],
  merged: ["good", "Checks passed on the result of the merge."],
  accepted: ["good", "A person looked at the change and accepted it."],
  waived: ["warning", "A person skipped the checks and said why."],
};

/** How well it is known that a task is done. Nothing for a task that is not. */
export function LevelBadge({ level }: { level: string }): JSX.Element | null {
  if (!level) return null;
  const [tone, title] = LEVELS[level] ?? ["neutral", ""];
  return (
    <Badge tone={tone} title={title}>
      {level}
    </Badge>
  );
}

const STATUS_TONES: Record<string, BadgeTone> = {
  in_progress: "info",
  in_review: "info",
  needs_input: "warning",
  partial: "warning",
  blocked: "bad",
  done: "good",
  cancelled: "quiet",
  draft: "quiet",
};

export function StatusBadge({ status }: { status: string }): JSX.Element {
  return <Badge tone={STATUS_TONES[status] ?? "neutral"}>{statusWords(status)}</Badge>;
}

/** `In progress` for `in_progress`. */
export function statusWords(status: string): string {
  const words = status.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export const PRIORITIES = ["critical", "high", "medium", "low", "backlog"] as const;

export function PriorityBadge({ priority }: { priority: number }): JSX.Element {
  const name = PRIORITIES[priority] ?? String(priority);
  const tone = priority === 0 ? "bad" : priority === 1 ? "warning" : "quiet";
  return <Badge tone={tone}>{name}</Badge>;
}
