// Calls a tool as the person, with arguments from a form, and shows the result and the time that it took.
import type { JSX } from "preact";
import { useId, useMemo, useState } from "preact/hooks";
import type { ToolCallResult, ToolPage } from "../../api/types";
import { formatDuration } from "../../parts/age";
import { Badge } from "../../parts/badge";
import { CodeText } from "../../parts/code_text";
import { ConfirmDialog } from "../../parts/dialog";
import { CheckField, Form } from "../../parts/form";
import { useCancellableAction } from "../../state/cancellable_action";
import { useCommands } from "../../state/commands";
import { announce } from "../../state/messages";
import { firstValue, type Json, kindOf, parseSchema, resolveSchema } from "./json_schema";
import { JsonField, ObjectFields } from "./schema_fields";

export function CallForm({ page }: { page: ToolPage }): JSX.Element {
  const { tool } = page;
  const whole = useMemo(() => parseSchema(page.schema), [page.schema]);
  const schema = useMemo(() => resolveSchema(whole, whole), [whole]);
  const hasForm = kindOf(schema, 0) === "object";
  const [value, setValue] = useState<Json>(() => firstValue(schema, whole));
  const [isJson, setJson] = useState(!hasForm);
  const [isValid, setValid] = useState(true);
  const [isAsking, setAsking] = useState(false);
  const [result, setResult] = useState<ToolCallResult | null>(null);
  const { run, cancel, isPending, error } = useCancellableAction("call_tool");
  const heading = useId();
  const call = async () => {
    setAsking(false);
    setResult(null);
    const answer = await run({ name: tool.name, arguments: JSON.stringify(value), is_confirmed: !tool.is_reading });
    if (!answer) return;
    setResult(answer);
    announce(answer.is_error ? `${tool.name} failed.` : `${tool.name} answered.`);
  };
  const submit = () => {
    if (isPending || !isValid) return;
    if (tool.is_reading) void call();
    else setAsking(true);
  };
  useCommands([{ title: `Call ${tool.name}`, group: "Tools", run: submit }]);
  return (
    <section class="card-box tool-part" aria-labelledby={heading}>
      <h2 id={heading}>Call it</h2>
      <Form
        label={`Arguments of ${tool.name}`}
        onSubmit={submit}
        action={tool.is_reading ? "Call" : "Call…"}
        isPending={isPending}
        isReady={isValid}
        error={error}
        {...(isPending && { onCancel: cancel })}
      >
        {hasForm && <CheckField label="Write the arguments as JSON" isChecked={isJson} onChange={(isChecked) => (setJson(isChecked), setValid(true))} />}
        {isJson || !hasForm ? (
          <JsonField label="Arguments" rows={6} value={value} onChange={(one) => setValue(one ?? {})} onValidity={setValid} />
        ) : (
          <ObjectFields schema={schema} whole={whole} value={value} onChange={(one) => setValue(one ?? {})} depth={0} />
        )}
        {isPending && <p class="muted" role="status">It runs…</p>}
      </Form>
      {result && <CallResult result={result} />}
      {isAsking && (
        <ConfirmDialog title={`Call ${tool.name}?`} action="Call it" kind={tool.is_destructive ? "dangerous" : "plain"} onConfirm={call} onClose={() => setAsking(false)}>
          <p>{tool.is_destructive ? "It may remove or replace something." : "It changes something."} It is done in your name, with:</p>
          <CodeText text={JSON.stringify(value, null, 2)} label="The arguments" />
        </ConfirmDialog>
      )}
    </section>
  );
}

function CallResult({ result }: { result: ToolCallResult }): JSX.Element {
  return (
    <div class="tool-result" role="group" aria-label="Result">
      <p>
        <Badge tone={result.is_error ? "bad" : "good"}>{result.is_error ? "failed" : "answered"}</Badge>{" "}
        <span class="muted">in {formatDuration(result.milliseconds / 1000)}</span>
      </p>
      {result.parts.map((part, at) => (
        <div key={at}>
          {part.kind !== "text" && (
            <p class="hint">
              {part.kind} {part.note}
            </p>
          )}
          {part.text && <CodeText text={prettify(part.text)} label="What it answered" />}
          {part.is_cut && <p class="hint">The rest is cut.</p>}
        </div>
      ))}
      {result.structured && (
        <details>
          <summary>Its data</summary>
          <CodeText text={result.structured} label="Its data" />
        </details>
      )}
    </div>
  );
}

/** JSON with one value a line; other text as it is. */
function prettify(text: string): string {
  if (!/^[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
