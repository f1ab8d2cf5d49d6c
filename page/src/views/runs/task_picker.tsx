// The tasks of a run: open ones, found by words, and chosen one by one.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { CheckField, TextField } from "../../parts/form";
import { useDeferredText } from "../../state/deferred_text";
import { useRead } from "../../state/read";

const CLOSED = ["done", "cancelled"];

export interface TaskPickerProps {
  chosen: readonly string[];
  onChange: (chosen: readonly string[]) => void;
}

export function TaskPicker({ chosen, onChange }: TaskPickerProps): JSX.Element {
  const [words, setWords] = useState("");
  const text = useDeferredText(words);
  const { answer } = useRead("board", { text }, { on: ["task"] });
  const open = answer?.columns.flatMap((one) => (CLOSED.includes(one.status) ? [] : one.cards)) ?? [];
  const found = new Map(open.map((one) => [one.id, one.title]));
  const all = [...chosen.filter((id) => !found.has(id)), ...found.keys()];
  const choose = (id: string, isChosen: boolean) => onChange(isChosen ? [...chosen, id] : chosen.filter((one) => one !== id));
  return (
    <div class="task-picker">
      <TextField label={`Tasks (${chosen.length} chosen)`} kind="search" value={words} onChange={setWords} placeholder="Words or an id" />
      <div class="picked-tasks" role="group" aria-label="Open tasks">
        {all.map((id) => (
          <CheckField key={id} label={`${found.get(id) ?? ""} ${id}`.trim()} isChecked={chosen.includes(id)} onChange={(is) => choose(id, is)} />
        ))}
        {answer && !all.length && <p class="muted">No open task has these words.</p>}
      </div>
    </div>
  );
}
