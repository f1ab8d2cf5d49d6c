// What was tried before a person was asked: attempts, the last words about the task, and what checks said.
import type { JSX } from "preact";
import type { OpenCause, TriedAttempt, TriedCheck } from "../../api/types";
import { Age } from "../../parts/age";
import { Badge, statusWords } from "../../parts/badge";
import { CodeText } from "../../parts/code_text";
import { splitHidden } from "../../parts/diff/visible_text";
import { Markdown } from "../../parts/markdown";

export function TriedSection({ cause }: { cause: OpenCause }): JSX.Element | null {
  const attempts = cause.attempts ?? [];
  const checks = cause.checks ?? [];
  if (attempts.length === 0 && checks.length === 0 && !cause.last_words && !cause.description) return null;
  const isOpen = cause.kind === "stuck" || (cause.kind === "review" && checks.length > 0);
  return (
    <details class="tried" open={isOpen}>
      <summary>{summarize(cause)}</summary>
      {attempts.length > 0 && (
        <ol class="tried-list" aria-label="Attempts" start={(cause.attempts_total ?? attempts.length) - attempts.length + 1}>
          {attempts.map((one) => (
            <Attempt key={one.at} attempt={one} />
          ))}
        </ol>
      )}
      {checks.length > 0 && (
        <ul class="tried-list" aria-label="Checks">
          {checks.map((one) => (
            <Check key={one.evidence} check={one} />
          ))}
        </ul>
      )}
      {cause.last_words && (
        <section>
          <h3>Last words</h3>
          <Markdown text={cause.last_words} />
        </section>
      )}
      {cause.description && (
        <section>
          <h3>The task</h3>
          <Markdown text={cause.description} />
        </section>
      )}
    </details>
  );
}

function summarize(cause: OpenCause): string {
  const attempts = cause.attempts_total ?? 0;
  const checks = cause.checks?.length ?? 0;
  const words = [
    attempts > 0 ? `${attempts} ${attempts === 1 ? "attempt" : "attempts"}` : "",
    checks > 0 ? `${checks} ${checks === 1 ? "check" : "checks"}` : "",
  ].filter(Boolean);
  return words.length > 0 ? `What was tried: ${words.join(", ")}` : "About the task";
}

function Attempt({ attempt }: { attempt: TriedAttempt }): JSX.Element {
  return (
    <li>
      <Badge tone={attempt.outcome === "done" ? "good" : "warning"}>{statusWords(attempt.outcome || "under way")}</Badge>{" "}
      {attempt.agent && <span class="muted">{splitHidden(attempt.agent)} </span>}
      <Age at={attempt.at} />
      {attempt.reason && <p class="tried-reason">{splitHidden(attempt.reason)}</p>}
    </li>
  );
}

function Check({ check }: { check: TriedCheck }): JSX.Element {
  return (
    <li>
      <Badge tone={check.verdict === "pass" ? "good" : "bad"}>{splitHidden(check.name)}</Badge> {splitHidden(check.words)}{" "}
      <code>{check.commit.slice(0, 8)}</code> <Age at={check.at} />
      {check.failed && check.failed.length > 0 && <p class="tried-reason">Failed: {splitHidden(check.failed.join(", "))}</p>}
      {check.excerpt && <CodeText text={check.excerpt} maxLines={10} label={`Log of ${check.name}`} />}
    </li>
  );
}
