// A longer text of a task, shown as Markdown and edited in place. Without a text it is only a button.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Markdown } from "../../parts/markdown";
import { EditButton, EditForm } from "./edit_field";
import type { SectionProps } from "./section_props";

export interface TextSectionProps extends SectionProps {
  name: "description" | "pseudocode" | "hints";
  title: string;
}

const EDITOR_ROWS = 10;

export function TextSection({ page, name, title, isReadonly, onChanged }: TextSectionProps): JSX.Element | null {
  const [isEditing, setEditing] = useState(false);
  const text = page.details.task[name] ?? "";
  if (!text && !isEditing) {
    if (isReadonly) return null;
    return (
      <p class="add-text">
        <button type="button" class="link-button" onClick={() => setEditing(true)}>
          Add {title.toLowerCase()}
        </button>
      </p>
    );
  }
  const field = { name, label: title, text, parse: (typed: string) => typed, rows: EDITOR_ROWS, help: "Markdown. Ctrl-Enter saves." };
  return (
    <section class="task-section" aria-label={title}>
      <div class="section-head">
        <h2>{title}</h2>
        {!isReadonly && !isEditing && <EditButton label={title} onClick={() => setEditing(true)} />}
      </div>
      {isEditing ? <EditForm page={page} field={field} onSaved={onChanged} onClose={() => setEditing(false)} /> : <Markdown text={text} />}
    </section>
  );
}
