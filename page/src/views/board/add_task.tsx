// Adds a task with what is known at once; the rest is edited on its page.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { PRIORITIES, statusWords } from "../../parts/badge";
import { Dialog } from "../../parts/dialog";
import { CheckField, ChoiceField, Form, TextField } from "../../parts/form";
import { navigate, taskAddress } from "../../router";
import { useAction } from "../../state/action";
import { showToast } from "../../state/messages";
import { useRead } from "../../state/read";

export function AddTaskDialog({ onClose }: { onClose: () => void }): JSX.Element {
  const [title, setTitle] = useState("");
  const [description, setDescription] = useState("");
  const [feature, setFeature] = useState("");
  const [priority, setPriority] = useState("2");
  const [tags, setTags] = useState("");
  const [isNext, setNext] = useState(false);
  const form = useRef<HTMLDivElement>(null);
  const known = useRead("board_choices", {}, { on: ["feature", "discipline"] }).answer;
  const action = useAction("add_task", { errors: "inline" });
  const add = async () => {
    const added = await action.run({
      title,
      description,
      feature,
      priority: Number(priority),
      tags: tags.split(/[\s,]+/).filter(Boolean),
    });
    if (!added) return;
    if (!isNext) {
      onClose();
      navigate(taskAddress(added.id));
      return;
    }
    showToast(`Added: ${added.title}`);
    setTitle("");
    setDescription("");
    form.current?.querySelector("input")?.focus();
  };
  return (
    <Dialog title="Add a task" onClose={onClose}>
      <div ref={form}>
        <Form label="Add a task" action="Add task" isPending={action.isPending} isReady={title.trim() !== ""} error={action.error} onSubmit={() => void add()} onCancel={onClose}>
          <TextField label="Title" value={title} onChange={setTitle} isRequired isFocused />
          <TextField label="Description" value={description} onChange={setDescription} rows={4} help="Markdown." />
          <div class="form-columns">
            <ChoiceField label="Priority" value={priority} choices={PRIORITIES.map((name, n) => [String(n), statusWords(name)] as const)} onChange={setPriority} />
            <ChoiceField label="Feature" value={feature} choices={[["", "None"], ...(known?.features ?? []).map((name) => [name, name] as const)]} onChange={setFeature} />
            <TextField label="Tags" value={tags} onChange={setTags} suggestions={known?.tags ?? []} />
          </div>
          <CheckField label="Add another one after this" isChecked={isNext} onChange={setNext} />
        </Form>
      </div>
    </Dialog>
  );
}
