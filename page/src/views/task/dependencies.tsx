// What a task waits for, what waits for it, and its parts.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { RelatedTask } from "../../api/types";
import { StatusBadge } from "../../parts/badge";
import { splitHidden } from "../../parts/diff/visible_text";
import { Form, TextField } from "../../parts/form";
import { Icon } from "../../parts/icon";
import { taskAddress } from "../../router";
import { useAction } from "../../state/action";
import { useDeferredText } from "../../state/deferred_text";
import { useRead } from "../../state/read";
import type { SectionProps } from "./section_props";

const MAX_OFFERED = 8;

export function TaskDependencies({ page, isReadonly, onChanged }: SectionProps): JSX.Element {
  const { task, depends_on: dependsOn = [], dependents = [], parts = [] } = page.details;
  const [isAdding, setAdding] = useState(false);
  const removal = useAction("remove_dependency");
  const remove = (on: string) => void removal.run({ id: task.id, on }).then(onChanged);
  return (
    <section class="task-relations" aria-label="Other tasks">
      <h2>Waits for</h2>
      {dependsOn.length === 0 && <p class="muted">Nothing.</p>}
      <RelatedList tasks={dependsOn} onRemove={isReadonly ? undefined : remove} />
      {!isReadonly && !isAdding && (
        <button type="button" class="link-button" onClick={() => setAdding(true)}>
          Add one
        </button>
      )}
      {isAdding && <AddDependency id={task.id} onAdded={onChanged} onClose={() => setAdding(false)} />}
      {dependents.length > 0 && (
        <>
          <h2>Waited for by</h2>
          <RelatedList tasks={dependents} />
        </>
      )}
      {parts.length > 0 && (
        <>
          <h2>Parts</h2>
          <RelatedList tasks={parts} />
        </>
      )}
    </section>
  );
}

function RelatedList({ tasks, onRemove }: { tasks: readonly RelatedTask[]; onRemove?: ((id: string) => void) | undefined }): JSX.Element {
  return (
    <ul class="related">
      {tasks.map((one) => (
        <li key={one.id}>
          <div>
            <a href={taskAddress(one.id)}>{splitHidden(one.title)}</a>
            {one.reason && <p class="hint">{one.reason}</p>}
          </div>
          <StatusBadge status={one.status} />
          {onRemove && (
            <button type="button" class="icon-button" aria-label={`Do not wait for ${one.title}`} onClick={() => onRemove(one.id)}>
              <Icon name="close" />
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

function AddDependency({ id, onAdded, onClose }: { id: string; onAdded: () => void; onClose: () => void }): JSX.Element {
  const [text, setText] = useState("");
  const [reason, setReason] = useState("");
  const wanted = useDeferredText(text.trim());
  const found = useRead("search_tasks", { text: wanted, limit: MAX_OFFERED }, { skip: wanted === "", on: [] }).answer?.tasks ?? [];
  const action = useAction("add_dependency", { errors: "inline" });
  const offered = found.filter((one) => one.id !== id).map((one) => `${one.id} ${one.title}`);
  const add = async () => {
    if (!(await action.run({ id, on: text.trim().split(" ", 1)[0] ?? "", reason }))) return;
    onAdded();
    onClose();
  };
  return (
    <Form label="Add a dependency" action="Wait for it" isPending={action.isPending} isReady={wanted !== ""} error={action.error} onSubmit={() => void add()} onCancel={onClose}>
      <TextField label="Task" help="Its id, or words of its title." value={text} onChange={setText} suggestions={offered} isFocused />
      <TextField label="Why" value={reason} onChange={setReason} />
    </Form>
  );
}
