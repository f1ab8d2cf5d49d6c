// One comment on a change: who said what, its state, and what its author can still do about it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ShownRemark } from "../../api/types";
import { Age } from "../../parts/age";
import { Badge, type BadgeTone } from "../../parts/badge";
import { splitHidden } from "../../parts/diff/visible_text";
import { Markdown } from "../../parts/markdown";
import { useAction } from "../../state/action";
import { useIsReadonly } from "../../state/projects";
import { RemarkForm } from "./remark_form";

const STATES: Readonly<Record<string, readonly [BadgeTone, string]>> = {
  draft: ["warning", "Only you see it until you ask for changes."],
  sent: ["info", "It waits for the next agent."],
  seen: ["info", "An agent has read it."],
  addressed: ["good", "The agent that got it changed the place, or somebody said that nothing is left to do."],
  outdated: ["quiet", "The place was changed otherwise, or is gone."],
};

export interface RemarkCardProps {
  remark: ShownRemark;
  viewer: string;
  onChanged: () => void;
}

export function RemarkCard({ remark, viewer, onChanged }: RemarkCardProps): JSX.Element {
  const isReadonly = useIsReadonly();
  const [isEditing, setEditing] = useState(false);
  const edit = useAction("edit_remark", { errors: "inline" });
  const remove = useAction("remove_remark", { done: "The draft is removed." });
  const settle = useAction("settle_remark");
  const isOwnDraft = remark.state === "draft" && remark.by_person && remark.author === viewer && !isReadonly;
  const isWaiting = (remark.state === "sent" || remark.state === "seen") && !isReadonly;
  const [tone, title] = STATES[remark.state] ?? ["neutral", ""];
  const after = async (done: Promise<unknown>) => {
    if (await done) onChanged();
  };
  const save = async (body: string) => {
    if (!(await edit.run({ id: remark.id, body }))) return false;
    setEditing(false);
    onChanged();
    return true;
  };
  return (
    <div class={`remark ${remark.state}`}>
      <p class="remark-head">
        <strong>{splitHidden(remark.by_person ? remark.author : `agent ${remark.author}`)}</strong>
        <Badge tone={tone} title={title}>
          {remark.state}
        </Badge>
        {remark.settled_commit && <code>{remark.settled_commit.slice(0, 8)}</code>}
        <Age at={remark.at} />
      </p>
      {isEditing ? (
        <RemarkForm label="Change the draft" saved={remark.body} storageKey="" isPending={edit.isPending} error={edit.error} onSave={save} onCancel={() => setEditing(false)} />
      ) : (
        <Markdown text={remark.body} />
      )}
      {isOwnDraft && !isEditing && (
        <div class="button-row">
          <button type="button" class="link-button" onClick={() => setEditing(true)}>
            Edit
          </button>
          <button type="button" class="link-button" disabled={remove.isPending} onClick={() => after(remove.run({ id: remark.id }))}>
            Delete draft
          </button>
        </div>
      )}
      {isWaiting && (
        <button type="button" class="link-button" disabled={settle.isPending} onClick={() => after(settle.run({ id: remark.id }))}>
          Nothing is left to do
        </button>
      )}
    </div>
  );
}
