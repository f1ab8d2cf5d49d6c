// What of a run waits for a person, with the decision right there.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Attention } from "../../api/types";
import { Age } from "../../parts/age";
import { Badge } from "../../parts/badge";
import { CodeText } from "../../parts/code_text";
import { TextField } from "../../parts/form";
import { formatAddress, taskAddress } from "../../router";
import { useAction } from "../../state/action";
import { useIsReadonly } from "../../state/projects";

const KINDS: Record<string, string> = { permission: "Permission", question: "Question", review: "Review", stuck: "Stuck", ended: "Ended" };

export function WaitingList({ waiting }: { waiting: readonly Attention[] }): JSX.Element | null {
  if (!waiting.length) return null;
  return (
    <section class="run-waiting" aria-label="Waits for you" aria-live="polite">
      {waiting.map((one) => (
        <WaitingEntry key={one.id} entry={one} />
      ))}
    </section>
  );
}

function WaitingEntry({ entry }: { entry: Attention }): JSX.Element {
  const [text, setText] = useState("");
  const isReadonly = useIsReadonly();
  const answer = useAction("answer_attention", { done: "Answered." });
  const say = (said: string) => void answer.run({ id: entry.id, text: said });
  const options = entry.options ?? [];
  return (
    <article class="card-box waiting-entry">
      <div class="step-head">
        <Badge tone="warning">{KINDS[entry.kind] ?? entry.kind}</Badge>
        <strong>{entry.title}</strong>
        {entry.task_id && <a href={taskAddress(entry.task_id)}>{entry.task_id}</a>}
        <Age at={entry.created_at} />
      </div>
      {entry.body && <CodeText text={entry.body} maxLines={12} label="What it is about" />}
      {!isReadonly && entry.kind === "review" && (
        <a class="button primary" href={formatAddress({ view: "review", rest: entry.task_id ? [entry.task_id] : [] })}>
          Look at the change
        </a>
      )}
      {!isReadonly && entry.kind !== "review" && options.length > 0 && (
        <div class="button-row">
          {options.map((option, index) => (
            <button key={option} type="button" class={`button ${index === 0 ? "primary" : ""}`} disabled={answer.isPending} onClick={() => say(option)}>
              {option}
            </button>
          ))}
        </div>
      )}
      {!isReadonly && entry.kind === "ended" && (
        <button type="button" class="button" disabled={answer.isPending} onClick={() => say("")}>
          I have seen it
        </button>
      )}
      {!isReadonly && (entry.kind === "question" || entry.kind === "stuck") && (
        <form
          class="answer-form"
          onSubmit={(event) => {
            event.preventDefault();
            if (text.trim()) say(text);
          }}
        >
          <TextField label="Your answer" value={text} onChange={setText} rows={2} />
          <button type="submit" class="button primary" disabled={answer.isPending || !text.trim()}>
            Answer
          </button>
        </form>
      )}
    </article>
  );
}
