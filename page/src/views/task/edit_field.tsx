// Editing one field in place. Whoever saves second is told who changed what, and keeps their own text.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { EditTask, TaskPage } from "../../api/types";
import { Form, TextField } from "../../parts/form";
import { Icon } from "../../parts/icon";
import { useAction } from "../../state/action";
import { announce } from "../../state/messages";

export type FieldValue = EditTask["changes"][string];

const CHANGED = "E_CHANGED";

export interface EditedField {
  /** The field of the task. */
  name: string;
  label: string;
  /** The value as text. */
  text: string;
  parse: (text: string) => FieldValue;
  rows?: number;
  help?: string;
  suggestions?: readonly string[];
}

export interface EditFormProps {
  page: TaskPage;
  field: EditedField;
  onSaved: () => void;
  onClose: () => void;
}

export function EditForm({ page, field, onSaved, onClose }: EditFormProps): JSX.Element {
  const [text, setText] = useState(field.text);
  const [seen, setSeen] = useState(page.seen); // what was known when editing began
  const action = useAction("edit_task", { errors: "inline" });
  const isChanged = action.error?.code === CHANGED;
  const save = async (known: number) => {
    const saved = await action.run({ id: page.details.task.id, changes: { [field.name]: field.parse(text) }, seen: known });
    if (!saved) return;
    announce(`${field.label} saved`);
    onSaved();
    onClose();
  };
  const takeTheirs = () => {
    setText(field.text);
    setSeen(page.seen);
    action.clearError();
  };
  return (
    <div class="edit-field">
      <Form
        label={`Edit ${field.label.toLowerCase()}`}
        action={isChanged ? "Replace it by mine" : "Save"}
        isPending={action.isPending}
        error={action.error}
        onSubmit={() => void save(isChanged ? page.seen : seen)}
        onCancel={onClose}
      >
        <TextField label={field.label} value={text} onChange={setText} rows={field.rows ?? 1} help={field.help} suggestions={field.suggestions} isFocused />
        {isChanged && (
          <div class="edit-theirs">
            <p class="hint">It says now:</p>
            <blockquote>{field.text || "(nothing)"}</blockquote>
            <button type="button" class="button" onClick={takeTheirs}>
              Begin from theirs
            </button>
          </div>
        )}
      </Form>
    </div>
  );
}

/** A button that begins to edit. Its name says what. */
export function EditButton({ label, onClick }: { label: string; onClick: () => void }): JSX.Element {
  return (
    <button type="button" class="icon-button edit-button" aria-label={`Edit ${label.toLowerCase()}`} title={`Edit ${label.toLowerCase()}`} onClick={onClick}>
      <Icon name="edit" />
    </button>
  );
}

/** The lines of a text, without empty ones. */
export function parseLines(text: string): string[] {
  return text.split("\n").map((line) => line.trim()).filter(Boolean);
}
