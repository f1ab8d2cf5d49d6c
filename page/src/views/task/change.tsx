// What the work on a task changed: its code, read when somebody opens it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatAddress, useAddress } from "../../router";
import { ChangeCode } from "../review/change_code";
import type { SectionProps } from "./section_props";

export function TaskChange({ page }: SectionProps): JSX.Element | null {
  const { filters } = useAddress();
  const { task, evidence = [], review } = page.details;
  const [isOpen, setOpen] = useState(false);
  if (!review && !task.evidence_commit && evidence.length === 0) return null;
  return (
    <details class="task-section" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h2>Change</h2>
      </summary>
      {isOpen && (
        <>
          <p>
            <a href={formatAddress({ view: "review", rest: [task.id] })}>With its comments and verdicts</a>
          </p>
          <ChangeCode query={{ subject: task.id, since: filters.since ?? "base" }} hasPrevious={false} remarks={[]} viewer="" reviewId="" onChanged={() => undefined} />
        </>
      )}
    </details>
  );
}
