// Writing a comment. What is typed survives a reload until it is saved or given up.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "../../api/client";
import { Form, TextField } from "../../parts/form";

export interface RemarkFormProps {
  label: string;
  /** What was saved before; empty for a new comment. */
  saved?: string;
  /** Under which name what is typed is kept in this tab; empty keeps nothing. */
  storageKey: string;
  isPending: boolean;
  error: ApiError | null;
  onSave: (body: string) => Promise<boolean>;
  onCancel: () => void;
}

export function RemarkForm({ label, saved = "", storageKey, isPending, error, onSave, onCancel }: RemarkFormProps): JSX.Element {
  const [body, setBody] = useState(() => (storageKey && sessionStorage.getItem(storageKey)) || saved);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => frame.current?.querySelector("textarea")?.focus(), []);
  const keep = (text: string) => {
    setBody(text);
    if (storageKey) sessionStorage.setItem(storageKey, text);
  };
  const forget = () => storageKey && sessionStorage.removeItem(storageKey);
  const save = async () => {
    if (await onSave(body)) forget();
  };
  const cancel = () => {
    forget();
    onCancel();
  };
  const closeByKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    if (body.trim() === saved.trim()) cancel();
  };
  return (
    <div class="remark-form" ref={frame} onKeyDown={closeByKey}>
      <Form label={label} action="Save draft" isPending={isPending} isReady={body.trim() !== ""} error={error} onSubmit={save} onCancel={cancel}>
        <TextField label={label} value={body} onChange={keep} rows={3} placeholder="What is wrong, and what would be right?" />
      </Form>
    </div>
  );
}
