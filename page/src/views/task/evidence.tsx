// The newest results of checks, each with its log.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Evidence, TaskPage } from "../../api/types";
import { Age, formatDuration } from "../../parts/age";
import { Badge, type BadgeTone } from "../../parts/badge";
import { CodeText } from "../../parts/code_text";
import { ErrorNote, LoadingNote } from "../../parts/notes";
import { useRead } from "../../state/read";
import { nameOf } from "./section_props";

const VERDICTS: Record<Evidence["verdict"], readonly [BadgeTone, string]> = {
  pass: ["good", "passed"],
  fail: ["bad", "failed"],
  could_not_run: ["warning", "could not run"],
  timeout: ["warning", "took too long"],
  flaky: ["warning", "flaky"],
};
const MAX_NAMED_TESTS = 20;

export function TaskEvidence({ page }: { page: TaskPage }): JSX.Element | null {
  const { evidence = [], needs = [], observed = [] } = page.details;
  if (evidence.length + needs.length + observed.length === 0) return null;
  return (
    <section class="task-section" aria-label="Evidence">
      <h2>Evidence</h2>
      {needs.length > 0 && <p class="muted">To be done, it needs: {needs.join(", ")}.</p>}
      <ul class="evidence">
        {evidence.map((one) => (
          <EvidenceItem key={one.id} evidence={one} askedBy={nameOf(page, one.asked_by ?? "")} />
        ))}
      </ul>
      {observed.length > 0 && (
        <p class="muted">
          Its agent ran: {observed.map((one) => `${one.command} (exit code ${one.exit_code})`).join(", ")}. Nobody knows on which files.
        </p>
      )}
    </section>
  );
}

function EvidenceItem({ evidence, askedBy }: { evidence: Evidence; askedBy: string }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const [tone, words] = VERDICTS[evidence.verdict];
  return (
    <li>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <Badge tone={tone}>{words}</Badge> <b>{evidence.check_name}</b>{" "}
          <span class="muted">
            at {evidence.commit_id.slice(0, 8)}
            {evidence.is_merged ? ", as merged" : ""}, {formatDuration(evidence.seconds ?? 0)}
            {evidence.ran != null && <>, {evidence.ran} tests</>}, <Age at={evidence.created_at} />
          </span>
        </summary>
        {isOpen && <EvidenceDetails evidence={evidence} askedBy={askedBy} />}
      </details>
    </li>
  );
}

function EvidenceDetails({ evidence, askedBy }: { evidence: Evidence; askedBy: string }): JSX.Element {
  const { reason, failed = [], findings = [], environment_summary: environment, machine } = evidence;
  return (
    <div class="evidence-details">
      {reason && <p>{reason}</p>}
      {failed.length > 0 && (
        <>
          <p>{failed.length === 1 ? "1 test failed:" : `${failed.length} tests failed:`}</p>
          <ul class="test-ids">
            {failed.slice(0, MAX_NAMED_TESTS).map((name) => (
              <li key={name}>
                <code>{name}</code>
                {evidence.old_failed?.includes(name) && <span class="muted"> fails on the base, too</span>}
              </li>
            ))}
          </ul>
          {failed.length > MAX_NAMED_TESTS && <p class="muted">and {failed.length - MAX_NAMED_TESTS} more</p>}
        </>
      )}
      {findings.length > 0 && (
        <ul class="findings">
          {findings.map((one) => (
            <li key={`${one.kind} ${one.path} ${one.line}`}>
              <Badge tone="warning">{one.kind.replaceAll("_", " ")}</Badge> <code>{one.path}</code> {one.text}
            </li>
          ))}
        </ul>
      )}
      <p class="hint">{[askedBy && `asked for by ${askedBy}`, machine && `on ${machine}`, environment].filter(Boolean).join(", ")}</p>
      <EvidenceLog evidence={evidence} />
    </div>
  );
}

function EvidenceLog({ evidence }: { evidence: Evidence }): JSX.Element {
  const log = useRead("evidence_log", { id: evidence.id }, { on: [] });
  if (log.answer) {
    const { text, left_out: leftOut } = log.answer;
    return <CodeText text={leftOut ? `… ${leftOut} bytes before this are not shown …\n${text}` : text || "It wrote nothing."} label={`Log of ${evidence.check_name}`} />;
  }
  if (!log.error) return <LoadingNote what="Reading its log" />;
  return evidence.log_excerpt ? <CodeText text={evidence.log_excerpt} label={`End of the log of ${evidence.check_name}`} /> : <ErrorNote error={log.error} />;
}
