// What has to be true when the task is done, and what shows it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { CriterionProof } from "../../api/types";
import { Badge, type BadgeTone } from "../../parts/badge";
import { splitHidden } from "../../parts/diff/visible_text";
import { EditButton, EditForm, parseLines } from "./edit_field";
import type { SectionProps } from "./section_props";

const TITLE = "Acceptance criteria";
const STATES: Record<string, readonly [BadgeTone, string]> = {
  proven: ["good", "proven"],
  failed: ["bad", "not true yet"],
  open: ["quiet", "not proven"],
};

export function TaskCriteria({ page, isReadonly, onChanged }: SectionProps): JSX.Element | null {
  const [isEditing, setEditing] = useState(false);
  const lines = page.details.task.acceptance_criteria ?? [];
  if (lines.length === 0 && isReadonly) return null;
  const field = {
    name: "acceptance_criteria",
    label: TITLE,
    text: lines.join("\n"),
    parse: parseLines,
    rows: 5,
    help: "One in a line. What shows it may follow: [check: name] or [test: id].",
  };
  return (
    <section class="task-section" aria-label={TITLE}>
      <div class="section-head">
        <h2>{TITLE}</h2>
        {!isReadonly && !isEditing && <EditButton label={TITLE} onClick={() => setEditing(true)} />}
      </div>
      {isEditing && <EditForm page={page} field={field} onSaved={onChanged} onClose={() => setEditing(false)} />}
      {!isEditing && lines.length === 0 && <p class="muted">None. What has to be true when it is done?</p>}
      {!isEditing && lines.length > 0 && (
        <ul class="criteria">
          {page.criteria.map((one, at) => (
            <Criterion key={at} criterion={one} />
          ))}
        </ul>
      )}
    </section>
  );
}

function Criterion({ criterion }: { criterion: CriterionProof }): JSX.Element {
  const { text, check, test, state = "open", commit, reason } = criterion;
  const [tone, words] = STATES[state] ?? ["quiet", state];
  return (
    <li>
      <span>{splitHidden(text)}</span>
      {(check || test) && (
        <p class="hint">
          <Badge tone={tone}>{words}</Badge> {check && <>check {check}</>} {test && <code>{test}</code>}
          {commit && <> at {commit.slice(0, 8)}</>}
          {reason && <>, {reason}</>}
        </p>
      )}
    </li>
  );
}
