// Fields with a label, help and an error, and the form around them.
import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";
import type { ApiError } from "../api/client";
import { ErrorNote } from "./notes";

export interface FormProps {
  label: string;
  onSubmit: () => void;
  /** What the button says. */
  action: string;
  isPending?: boolean;
  isReady?: boolean;
  error?: ApiError | null;
  onCancel?: () => void;
  children: ComponentChildren;
}

/** A form. Ctrl-Enter sends it from every field. */
export function Form(props: FormProps): JSX.Element {
  const { isPending = false, isReady = true } = props;
  const submit = (event: Event) => {
    event.preventDefault();
    if (!isPending && isReady) props.onSubmit();
  };
  const submitByKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
  };
  return (
    <form class="form" aria-label={props.label} onSubmit={submit} onKeyDown={submitByKey}>
      {props.children}
      {props.error && <ErrorNote error={props.error} />}
      <div class="form-actions">
        <button type="submit" class="button primary" disabled={isPending || !isReady}>
          {props.action}
        </button>
        {props.onCancel && (
          <button type="button" class="button" onClick={props.onCancel}>
            Cancel
          </button>
        )}
      </div>
    </form>
  );
}

interface FieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  help?: string;
  isRequired?: boolean;
  isFocused?: boolean;
  placeholder?: string;
}

export interface TextFieldProps extends FieldProps {
  /** More than one line makes it a field for longer text. */
  rows?: number;
  kind?: "text" | "number" | "search";
  /** Values to choose from; others may be written too. */
  suggestions?: readonly string[];
  isLabelHidden?: boolean;
}

export function TextField(props: TextFieldProps): JSX.Element {
  const { label, value, onChange, help, rows = 1, kind = "text", suggestions, isLabelHidden = false } = props;
  const id = useId();
  const shared = {
    id,
    value,
    required: props.isRequired ?? false,
    placeholder: props.placeholder,
    autofocus: props.isFocused ?? false,
    "aria-describedby": help ? `${id}-help` : undefined,
  };
  const take = (event: Event) => onChange((event.currentTarget as HTMLInputElement | HTMLTextAreaElement).value);
  return (
    <div class="field">
      <label for={id} class={isLabelHidden ? "sr-only" : ""}>
        {label}
      </label>
      {rows > 1 ? (
        <textarea {...shared} rows={rows} onInput={take} />
      ) : (
        <input {...shared} type={kind} step="any" list={suggestions ? `${id}-list` : undefined} autocomplete="off" onInput={take} />
      )}
      {suggestions && (
        <datalist id={`${id}-list`}>
          {suggestions.map((one) => (
            <option value={one} />
          ))}
        </datalist>
      )}
      {help && (
        <p class="field-help" id={`${id}-help`}>
          {help}
        </p>
      )}
    </div>
  );
}

export interface ChoiceFieldProps extends FieldProps {
  /** Values, or values with what is shown for them. */
  choices: readonly (string | readonly [string, string])[];
  isLabelHidden?: boolean;
}

export function ChoiceField({ label, value, onChange, help, choices, isLabelHidden = false }: ChoiceFieldProps): JSX.Element {
  const id = useId();
  return (
    <div class="field">
      <label for={id} class={isLabelHidden ? "sr-only" : ""}>
        {label}
      </label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {choices.map((choice) => {
          const [name, words] = typeof choice === "string" ? [choice, choice] : choice;
          return (
            <option key={name} value={name} selected={name === value}>
              {words}
            </option>
          );
        })}
      </select>
      {help && <p class="field-help">{help}</p>}
    </div>
  );
}

export interface CheckFieldProps {
  label: string;
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
  help?: string;
}

export function CheckField({ label, isChecked, onChange, help }: CheckFieldProps): JSX.Element {
  const id = useId();
  return (
    <div class="field check">
      <input id={id} type="checkbox" checked={isChecked} onChange={(event) => onChange(event.currentTarget.checked)} />
      <label for={id}>{label}</label>
      {help && <p class="field-help">{help}</p>}
    </div>
  );
}
