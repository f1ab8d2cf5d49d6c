// A form for the arguments of a tool, made from its JSON schema. What no field fits is written as JSON.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { CheckField, ChoiceField, TextField } from "../../parts/form";
import { emptyValue, isObject, type Json, kindOf, resolveSchema, type Schema } from "./json_schema";

/** More fields that need not be filled in are folded. */
const MAX_OPEN_FIELDS = 4;
const LONG_TEXTS = /description|body|text|content|hints|pseudocode|summary|message|reason|code|query|sql/i;

export interface SchemaFieldProps {
  name: string;
  schema: Schema;
  /** The schema of all arguments, which references are about. */
  whole: Schema;
  /** Undefined where nothing is given. */
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  isRequired: boolean;
  depth: number;
}

export function ObjectFields({ schema, whole, value, onChange, depth }: Omit<SchemaFieldProps, "name" | "isRequired">): JSX.Element {
  const given = isObject(value) ? (value as Record<string, Json>) : {};
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const names = Object.keys(schema.properties ?? {});
  const set = (name: string, one: Json | undefined) => {
    const { [name]: _, ...rest } = given;
    onChange(one === undefined ? rest : { ...rest, [name]: one });
  };
  const field = (name: string) => (
    <SchemaField
      key={name}
      name={name}
      schema={schema.properties?.[name] ?? {}}
      whole={whole}
      value={Object.hasOwn(given, name) ? given[name] : undefined}
      onChange={(one) => set(name, one)}
      isRequired={required.has(name)}
      depth={depth + 1}
    />
  );
  const needed = names.filter((name) => required.has(name));
  const others = names.filter((name) => !required.has(name));
  if (needed.length === 0 || others.length <= MAX_OPEN_FIELDS) return <>{[...needed, ...others].map(field)}</>;
  return (
    <>
      {needed.map(field)}
      <details class="schema-more">
        <summary>{others.length} more</summary>
        <div class="form">{others.map(field)}</div>
      </details>
    </>
  );
}

function SchemaField({ schema: written, ...props }: SchemaFieldProps): JSX.Element {
  const schema = resolveSchema(written, props.whole);
  const { name, value, onChange, isRequired, depth } = props;
  const label = isRequired ? `${name} (needed)` : name;
  const shared = { label, ...(typeof schema.description === "string" && { help: schema.description }) };
  switch (kindOf(schema, depth)) {
    case "object":
      return (
        <fieldset class="schema-group">
          <legend>{label}</legend>
          {shared.help && <p class="field-help">{shared.help}</p>}
          <ObjectFields schema={schema} whole={props.whole} value={value} onChange={onChange} depth={depth} />
        </fieldset>
      );
    case "list":
      return <ListFields {...props} schema={schema} />;
    case "choice": {
      const choices = (schema.enum ?? []).map((one) => [String(one), String(one)] as const);
      const text = typeof value === "string" ? value : "";
      return <ChoiceField {...shared} value={text} onChange={(one) => onChange(one || undefined)} choices={[["", describeDefault(schema)], ...choices]} />;
    }
    case "yes or no":
      return <CheckField {...shared} isChecked={(value ?? schema.default) === true} onChange={onChange} />;
    case "number":
      return <TextField {...shared} kind="number" value={value === undefined || value === null ? "" : String(value)} onChange={(text) => onChange(text === "" ? undefined : Number(text))} placeholder={describeDefault(schema)} />;
    case "text":
      return <TextField {...shared} rows={LONG_TEXTS.test(name) ? 3 : 1} value={typeof value === "string" ? value : ""} onChange={(text) => onChange(text === "" && !isRequired ? undefined : text)} placeholder={describeDefault(schema)} />;
    default:
      return <JsonField {...shared} value={value} onChange={onChange} />;
  }
}

function ListFields({ name, schema, whole, value, onChange, isRequired, depth }: SchemaFieldProps): JSX.Element {
  const items = Array.isArray(value) ? value : [];
  const item = resolveSchema(schema.items ?? {}, whole);
  const change = (changed: Json[]) => onChange(changed.length || isRequired ? changed : undefined);
  return (
    <fieldset class="schema-group">
      <legend>{isRequired ? `${name} (needed)` : name}</legend>
      {typeof schema.description === "string" && <p class="field-help">{schema.description}</p>}
      {items.map((one, at) => (
        <div class="schema-item" key={at}>
          <SchemaField
            name={`${name} ${at + 1}`}
            schema={item}
            whole={whole}
            value={one}
            onChange={(changed) => change(items.map((old, place) => (place === at ? (changed ?? emptyValue(item, depth + 1)) : old)))}
            isRequired={false}
            depth={depth + 1}
          />
          <button type="button" class="link-button" aria-label={`Remove ${name} ${at + 1}`} onClick={() => change(items.filter((_, place) => place !== at))}>
            Remove
          </button>
        </div>
      ))}
      <div>
        <button type="button" class="button" onClick={() => change([...items, emptyValue(item, depth + 1)])}>
          Add to {name}
        </button>
      </div>
    </fieldset>
  );
}

export interface JsonFieldProps {
  label: string;
  help?: string;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  rows?: number;
  onValidity?: (isValid: boolean) => void;
}

/** A value written as JSON. What cannot be read is said, and counts only once it can. */
export function JsonField({ label, help, value, onChange, rows = 2, onValidity }: JsonFieldProps): JSX.Element {
  const [text, setText] = useState(() => (value === undefined ? "" : JSON.stringify(value, null, 2)));
  const [problem, setProblem] = useState("");
  const take = (written: string) => {
    setText(written);
    try {
      const parsed = written.trim() ? (JSON.parse(written) as Json) : undefined;
      setProblem("");
      onValidity?.(true);
      onChange(parsed);
    } catch (error) {
      setProblem(String(error instanceof Error ? error.message : error));
      onValidity?.(false);
    }
  };
  const about = [help, problem && `Not JSON: ${problem}`].filter(Boolean).join(" ");
  return <TextField label={`${label} (JSON)`} rows={rows} value={text} onChange={take} {...(about && { help: about })} />;
}

function describeDefault(schema: Schema): string {
  return schema.default === undefined || schema.default === null ? "" : `${JSON.stringify(schema.default)} if empty`;
}
