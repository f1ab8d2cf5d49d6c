// The short facts of a task. What can be chosen is changed at once, the rest in place.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { Age, formatDuration } from "../../parts/age";
import { PRIORITIES, statusWords } from "../../parts/badge";
import { formatCost } from "../../parts/cost";
import { ChoiceField } from "../../parts/form";
import { formatAddress, taskAddress } from "../../router";
import { useAction } from "../../state/action";
import { useRead } from "../../state/read";
import { EditButton, EditForm, type EditedField, parseLines } from "./edit_field";
import { nameOf, type SectionProps } from "./section_props";

const KINDS = ["task", "bug", "idea"];
const parseWords = (text: string) => text.split(/[\s,]+/).filter(Boolean);
const parseNumber = (text: string) => (text.trim() === "" ? null : Number(text));

export function TaskFacts(props: SectionProps): JSX.Element {
  const { page } = props;
  const { task } = page.details;
  return (
    <section class="task-facts" aria-label="Facts">
      <Chosen {...props} />
      <dl>
        <Fact title="Held by">
          {task.claimed_by ? <a href={formatAddress({ view: "board", filters: { agent: nameOf(page, task.claimed_by) } })}>{nameOf(page, task.claimed_by)}</a> : "nobody"}
          {task.claim_expires_at && (
            <span class="muted">
              , lapses <Age at={task.claim_expires_at} />
            </span>
          )}
        </Fact>
        <Fact title="Took">{describeSpending(props)}</Fact>
        {task.evidence_at && (
          <Fact title="Proven">
            <Age at={task.evidence_at} /> <span class="muted">at {task.evidence_commit?.slice(0, 8)}</span>
          </Fact>
        )}
        {task.queue_position != null && <Fact title="Queue">put before others</Fact>}
        <Fact title="Made">
          <Age at={task.created_at} /> <span class="muted">by {task.provenance === "agent" ? "an agent" : task.provenance === "system" ? "bn" : "a person"}</span>
        </Fact>
        <Fact title="Changed">
          <Age at={task.updated_at} />
        </Fact>
        {task.parent && (
          <Fact title="Part of">
            <a href={taskAddress(task.parent)}>{task.parent}</a>
          </Fact>
        )}
        {editedFields(props).map((field) => (
          <EditedFact key={field.name} {...props} field={field} />
        ))}
      </dl>
    </section>
  );
}

function Fact({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function editedFields({ page }: SectionProps): EditedField[] {
  const { task } = page.details;
  return [
    { name: "tags", label: "Tags", text: (task.tags ?? []).join(" "), parse: parseWords },
    { name: "checks", label: "Checks", text: (task.checks ?? []).join(" "), parse: parseWords, help: "Names of checks that it needs besides those of the project." },
    { name: "covers", label: "Requirements", text: (task.covers ?? []).join(" "), parse: parseWords },
    { name: "estimated_turns", label: "Estimated turns", text: task.estimated_turns ? String(task.estimated_turns) : "", parse: parseNumber },
    { name: "context_files", label: "Files to read first", text: (task.context_files ?? []).join("\n"), parse: parseLines, rows: 3, help: "One in a line." },
    { name: "output_artifacts", label: "Files to make", text: (task.output_artifacts ?? []).join("\n"), parse: parseLines, rows: 3, help: "One in a line." },
  ];
}

function EditedFact({ page, isReadonly, onChanged, field }: SectionProps & { field: EditedField }): JSX.Element | null {
  const [isEditing, setEditing] = useState(false);
  if (isReadonly && !field.text) return null;
  return (
    <div>
      <dt>{field.label}</dt>
      <dd>
        {isEditing ? (
          <EditForm page={page} field={field} onSaved={onChanged} onClose={() => setEditing(false)} />
        ) : (
          <span class="fact-value">
            <span class={field.text ? "fact-text" : "muted"}>{field.text || "none"}</span>
            {!isReadonly && <EditButton label={field.label} onClick={() => setEditing(true)} />}
          </span>
        )}
      </dd>
    </div>
  );
}

/** Fields with a few possible values. */
function Chosen({ page, isReadonly, onChanged }: SectionProps): JSX.Element {
  const { task } = page.details;
  const known = useRead("board_choices", {}, { on: ["feature", "discipline"] }).answer;
  const action = useAction("edit_task");
  const choose = (name: string, value: string | number | null) =>
    void action.run({ id: task.id, changes: { [name]: value }, seen: page.seen }).then(onChanged);
  const names = (several: readonly string[] | undefined, chosen: string | null | undefined) =>
    [["", "None"], ...[...new Set([...(several ?? []), ...(chosen ? [chosen] : [])])].map((one) => [one, one] as const)] as const;
  if (isReadonly) {
    return (
      <p>
        {statusWords(PRIORITIES[task.priority] ?? "")} {task.kind} {task.feature && `of ${task.feature}`} {task.discipline}
      </p>
    );
  }
  return (
    <div class="form-columns">
      <ChoiceField label="Priority" value={String(task.priority)} choices={PRIORITIES.map((name, n) => [String(n), statusWords(name)] as const)} onChange={(value) => choose("priority", Number(value))} />
      <ChoiceField label="Kind" value={task.kind} choices={KINDS.map((name) => [name, statusWords(name)] as const)} onChange={(value) => choose("kind", value)} />
      <ChoiceField label="Feature" value={task.feature ?? ""} choices={names(known?.features, task.feature)} onChange={(value) => choose("feature", value || null)} />
      <ChoiceField label="Discipline" value={task.discipline ?? ""} choices={names(known?.disciplines, task.discipline)} onChange={(value) => choose("discipline", value || null)} />
    </div>
  );
}

function describeSpending({ page }: SectionProps): string {
  if (page.attempts.length === 0) return "no attempt yet";
  const cost: Record<string, number> = {};
  let seconds = 0;
  for (const one of page.attempts) {
    seconds += one.seconds ?? 0;
    if (one.currency) cost[one.currency] = (cost[one.currency] ?? 0) + (one.cost ?? 0);
  }
  const attempts = page.attempts.length === 1 ? "1 attempt" : `${page.attempts.length} attempts`;
  return [attempts, formatDuration(seconds), formatCost(cost)].filter(Boolean).join(", ");
}
