// Which changes of a run are not merged yet, and why.
import type { JSX } from "preact";
import type { QueuedMerge, RunDetails } from "../../api/types";
import { Age } from "../../parts/age";
import { Badge, type BadgeTone } from "../../parts/badge";
import { formatAddress, taskAddress } from "../../router";

const STATES: Record<string, readonly [BadgeTone, string]> = {
  settling: ["info", "Checked and merged now"],
  accepted: ["good", "Accepted, waits for its turn"],
  conflict: ["bad", "Conflict, tried again"],
};

export function MergeQueue({ details }: { details: RunDetails }): JSX.Element {
  const { merges, merged, is_merging } = details;
  return (
    <div class="merge-queue">
      <p class="muted">
        {merged} change{merged === 1 ? " is" : "s are"} in the branch of the run.
        {is_merging && " A machine has the turn to merge now."}
      </p>
      {!merges.length && <p>No change waits to be merged.</p>}
      <ol class="merge-list">
        {merges.map((one) => (
          <MergeRow key={`${one.task_id} ${one.state}`} merge={one} />
        ))}
      </ol>
    </div>
  );
}

function MergeRow({ merge }: { merge: QueuedMerge }): JSX.Element {
  const [tone, words] = STATES[merge.state] ?? ["neutral", merge.state];
  return (
    <li class="card-box">
      <div class="step-head">
        <Badge tone={tone}>{words}</Badge>
        <a href={merge.state === "accepted" ? formatAddress({ view: "review", rest: [merge.task_id] }) : taskAddress(merge.task_id)}>{merge.title || merge.task_id}</a>
        {merge.commit && <code>{merge.commit.slice(0, 8)}</code>}
        <Age at={merge.since} prefix="for" />
      </div>
      {merge.reason && <p class="step-words">{merge.reason}</p>}
    </li>
  );
}
