// What judges a change, before its code: what it does to tests, what checks said, and what shows each criterion.
import type { JSX } from "preact";
import type { ChangeFinding, ReviewedCheck, ReviewPage } from "../../api/types";
import { Age } from "../../parts/age";
import { Badge } from "../../parts/badge";
import { CodeText } from "../../parts/code_text";
import { splitHidden } from "../../parts/diff/visible_text";

const MAX_FINDINGS = 50;
const MAX_FAILED = 10;

export function EvidenceSection({ found }: { found: ReviewPage }): JSX.Element {
  const commit = found.review?.commit_id ?? "";
  return (
    <section class="review-section evidence" aria-labelledby="evidence-title">
      {found.findings.length > 0 && <Findings findings={found.findings} />}
      <h2 id="evidence-title">Evidence</h2>
      {found.checks.length === 0 ? (
        <p class="muted">No check has run on this commit.</p>
      ) : (
        <ul class="plain-list">
          {found.checks.map((one) => (
            <CheckResult key={one.evidence} check={one} commit={commit} />
          ))}
        </ul>
      )}
      {found.criteria.length > 0 && (
        <>
          <h3>Acceptance criteria</h3>
          <ol class="criteria">
            {found.criteria.map((one) => (
              <li key={one.number} value={one.number}>
                {splitHidden(one.text)}
                <span class="hint">{one.shown_by ? ` shown by ${one.shown_by}` : " no check or test shows it"}</span>
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  );
}

function Findings({ findings }: { findings: readonly ChangeFinding[] }): JSX.Element {
  return (
    <div class="findings" role="group" aria-labelledby="findings-title">
      <h2 id="findings-title">Look at this first: it changes what judges it</h2>
      <ul class="plain-list">
        {findings.slice(0, MAX_FINDINGS).map((one) => (
          <li key={`${one.kind}${one.path}${one.line ?? 0}${one.text ?? ""}`}>
            <Badge tone="warning">{one.kind.replaceAll("_", " ")}</Badge>{" "}
            <code>
              {splitHidden(one.path)}
              {one.line ? `:${one.line}` : ""}
            </code>{" "}
            {one.text && <span class="muted">{splitHidden(one.text)}</span>}
          </li>
        ))}
      </ul>
      {findings.length > MAX_FINDINGS && <p class="muted">{findings.length - MAX_FINDINGS} more</p>}
    </div>
  );
}

function CheckResult({ check, commit }: { check: ReviewedCheck; commit: string }): JSX.Element {
  const failed = check.failed ?? [];
  return (
    <li>
      <Badge tone={check.verdict === "pass" ? "good" : check.verdict === "fail" ? "bad" : "warning"}>{splitHidden(check.name)}</Badge>{" "}
      {splitHidden(check.words)}
      {check.commit !== commit && (
        <>
          , at <code>{check.commit.slice(0, 8)}</code>
        </>
      )}
      , <Age at={check.at} />
      {failed.length > 0 && (
        <p class="tried-reason">
          Failed: {splitHidden(failed.slice(0, MAX_FAILED).join(", "))}
          {failed.length > MAX_FAILED && ` and ${failed.length - MAX_FAILED} more`}
        </p>
      )}
      {check.excerpt && <CodeText text={check.excerpt} maxLines={10} label={`Log of ${check.name}`} />}
    </li>
  );
}
