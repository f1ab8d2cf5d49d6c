// The title of a task, its status, and what can be done with it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api } from "../../api/client";
import { LevelBadge, StatusBadge } from "../../parts/badge";
import { ConfirmDialog } from "../../parts/dialog";
import { splitHidden } from "../../parts/diff/visible_text";
import { Icon } from "../../parts/icon";
import { Menu, type MenuItem } from "../../parts/menu";
import { formatAddress, navigate, useAddress } from "../../router";
import { useAction } from "../../state/action";
import { useCommands } from "../../state/commands";
import { asApiError } from "../../state/faults";
import { showError, showToast } from "../../state/messages";
import { EditButton, EditForm } from "./edit_field";
import { moveItems, useTaskMoves } from "./moves";
import type { SectionProps } from "./section_props";

const CLOSED = ["done", "cancelled"];

export function TaskHead({ page, isReadonly, onChanged }: SectionProps): JSX.Element {
  const { task, review } = page.details;
  const { project } = useAddress();
  const [isEditing, setEditing] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const { move, waive, isPending, dialogs } = useTaskMoves(onChanged);
  const isOpen = !CLOSED.includes(task.status);
  const share = () => void downloadTask(project, task.id);
  const finish = () => move(task, "done");
  useCommands([
    { title: "Save this task as a file", group: "Task", run: share },
    ...(isReadonly ? [] : [{ title: "Edit the title", group: "Task", keys: "e", run: () => setEditing(true) }]),
    ...(isReadonly || !isOpen ? [] : [{ title: "Mark this task as done", group: "Task", run: finish }]),
  ]);
  const more: MenuItem[] = [
    { title: "Save as a file", note: "One page with everything, to keep or to send", run: share },
    { title: "Copy its id", run: () => void navigator.clipboard.writeText(task.id).then(() => showToast("Copied.")) },
  ];
  if (!isReadonly && isOpen) more.push({ title: "Close without checks…", run: () => waive(task) });
  if (!isReadonly) more.push({ title: "Delete…", isDangerous: true, run: () => setDeleting(true) });
  const field = { name: "title", label: "Title", text: task.title, parse: (text: string) => text };
  return (
    <header class="task-head">
      <p class="task-place">
        <a href={formatAddress({ view: "board" })}>Board</a> / <span class="card-id">{task.id}</span>
      </p>
      {isEditing ? (
        <EditForm page={page} field={field} onSaved={onChanged} onClose={() => setEditing(false)} />
      ) : (
        <div class="task-title">
          <h1>{splitHidden(task.title)}</h1>
          {!isReadonly && <EditButton label="Title" onClick={() => setEditing(true)} />}
        </div>
      )}
      <div class="button-row">
        <StatusBadge status={task.status} />
        <LevelBadge level={task.evidence_level ?? ""} />
        {!isReadonly && isOpen && (
          <button type="button" class="button primary" disabled={isPending} onClick={finish}>
            <Icon name="check" />
            Done
          </button>
        )}
        {!isReadonly && (
          <Menu items={moveItems(task, move)} isDisabled={isPending}>
            Move to
            <Icon name="down" />
          </Menu>
        )}
        {review && (
          <a class="button" href={formatAddress({ view: "review", rest: [task.id] })}>
            Review the change
          </a>
        )}
        <Menu label="More" items={more} class="icon-button">
          <Icon name="more" />
        </Menu>
      </div>
      {dialogs}
      {isDeleting && <DeleteDialog id={task.id} title={task.title} onClose={() => setDeleting(false)} />}
    </header>
  );
}

function DeleteDialog({ id, title, onClose }: { id: string; title: string; onClose: () => void }): JSX.Element {
  const action = useAction("delete_task", { done: `Deleted: ${title}` });
  const remove = async () => {
    const deleted = await action.run({ id });
    onClose();
    if (deleted) navigate({ view: "board" });
  };
  return (
    <ConfirmDialog title="Delete the task?" action="Delete the task" kind="dangerous" isPending={action.isPending} onClose={onClose} onConfirm={() => void remove()}>
      <p>{title}</p>
      <p class="hint">Its comments, questions and results of checks are deleted with it. To say that it will not be done, cancel it instead. bn undo brings it back.</p>
    </ConfirmDialog>
  );
}

/** Saves a task as one file that needs nothing else. */
async function downloadTask(project: string, id: string): Promise<void> {
  try {
    const file = await api.read(project, "task_file", { id });
    const address = URL.createObjectURL(new Blob([file.html], { type: "text/html" }));
    const link = document.createElement("a");
    link.href = address;
    link.download = file.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  } catch (error) {
    showError(asApiError(error));
  }
}
