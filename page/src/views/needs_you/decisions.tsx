// The decisions that are made right in the card: permissions, questions, stuck tasks and ended runs.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ErrorNote } from "../../parts/notes";
import { ConfirmDialog } from "../../parts/dialog";
import { Form, TextField } from "../../parts/form";
import { splitHidden, visibleLine } from "../../parts/diff/visible_text";
import { formatAddress } from "../../router";
import { useAction } from "../../state/action";
import { showToast } from "../../state/messages";
import { useIsReadonly } from "../../state/projects";
import type { CauseCardProps } from "./cause_card";

const PERMISSION_WORDS: Readonly<Record<string, readonly [string, string]>> = {
  yes: ["Allow once", ""],
  always: ["Always allow this", "The same request is allowed for the rest of the run."],
  no: ["Refuse", ""],
};

/** Sends the answer to a cause, and says so. */
function useAnswer({ cause, onAnswered }: CauseCardProps) {
  const action = useAction("answer_cause", { errors: "inline" });
  const send = async (answer: string, done: string) => {
    onAnswered(true);
    if (await action.run({ id: cause.id, answer })) showToast(done);
    else onAnswered(false);
  };
  return { ...action, send };
}

export function PermissionDecision(props: CauseCardProps): JSX.Element {
  const { send, isPending, error } = useAnswer(props);
  const isReadonly = useIsReadonly();
  return (
    <>
      {error && <ErrorNote error={error} />}
      <div class="button-row decision">
        {(props.cause.options ?? []).map((option) => {
          const [words, title] = PERMISSION_WORDS[option] ?? [option, ""];
          return (
            <button
              key={option}
              type="button"
              class={`button ${option === "yes" ? "primary" : ""}`}
              title={title}
              disabled={isPending || isReadonly}
              onClick={() => send(option, `Answered: ${words}.`)}
            >
              {words}
            </button>
          );
        })}
      </div>
    </>
  );
}

export function QuestionDecision(props: CauseCardProps): JSX.Element {
  const { cause } = props;
  const { send, isPending, error } = useAnswer(props);
  const isReadonly = useIsReadonly();
  const [words, setWords] = useState("");
  return (
    <div class="decision">
      {cause.preferred && <p class="muted">The agent would choose: {splitHidden(cause.preferred)}</p>}
      {cause.options && (
        <div class="button-row" role="group" aria-label="Answers to choose from">
          {cause.options.map((option, at) => (
            <button
              key={option}
              type="button"
              class="button choice"
              disabled={isPending || isReadonly}
              onClick={() => send(String(at + 1), "Answered.")}
            >
              {splitHidden(option)}
            </button>
          ))}
        </div>
      )}
      <Form
        label={`Answer: ${visibleLine(cause.title)}`}
        action="Send answer"
        isPending={isPending}
        isReady={words.trim() !== "" && !isReadonly}
        error={error}
        onSubmit={() => send(words, "Answered.")}
      >
        <TextField label={cause.options ? "Or in your own words" : "Your answer"} value={words} onChange={setWords} rows={2} />
      </Form>
    </div>
  );
}

export function StuckDecision(props: CauseCardProps): JSX.Element {
  const { cause, onAnswered } = props;
  const { send, isPending, error } = useAnswer(props);
  const isReadonly = useIsReadonly();
  const [hint, setHint] = useState("");
  const [isCancelling, setCancelling] = useState(false);
  return (
    <div class="decision">
      <Form
        label={`What the next attempt should do: ${visibleLine(cause.title)}`}
        action={hint.trim() ? "Try again with this hint" : "Try again"}
        isPending={isPending}
        isReady={!isReadonly}
        error={error}
        onSubmit={() => send(hint.trim() || "Try again.", "The task is pending again.")}
      >
        <TextField label="A hint for the next attempt" value={hint} onChange={setHint} rows={2} placeholder="What should it do another way?" />
      </Form>
      <button type="button" class="button dangerous" disabled={isReadonly} onClick={() => setCancelling(true)}>
        Cancel the task…
      </button>
      {isCancelling && <CancelDialog cause={cause} onAnswered={onAnswered} onClose={() => setCancelling(false)} />}
    </div>
  );
}

function CancelDialog({ cause, onAnswered, onClose }: CauseCardProps & { onClose: () => void }): JSX.Element {
  const { run, isPending, error } = useAction("cancel_stuck_task", { done: "The task is cancelled.", errors: "inline" });
  const [reason, setReason] = useState("");
  const cancel = async () => {
    onAnswered(true);
    if (await run({ id: cause.id, reason })) onClose();
    else onAnswered(false);
  };
  return (
    <ConfirmDialog
      title="Cancel the task?"
      action="Cancel the task"
      kind="dangerous"
      isPending={isPending}
      isReady={reason.trim() !== ""}
      onConfirm={cancel}
      onClose={onClose}
    >
      <p>{splitHidden(cause.task?.title ?? cause.title)}</p>
      <TextField label="Why it will not be done" value={reason} onChange={setReason} rows={2} isFocused />
      {error && <ErrorNote error={error} />}
    </ConfirmDialog>
  );
}

export function EndedDecision(props: CauseCardProps): JSX.Element {
  const { send, isPending, error } = useAnswer(props);
  const isReadonly = useIsReadonly();
  const ended = props.cause.ended;
  const copy = () => navigator.clipboard.writeText(ended?.resume ?? "").then(() => showToast("Copied."));
  return (
    <div class="decision">
      {ended && (
        <p class="command-line">
          <span class="muted">{ended.resume.startsWith("bn report") ? "See what is only said:" : "Resume it with:"}</span>{" "}
          <code>{ended.resume}</code>{" "}
          <button type="button" class="link-button" onClick={copy}>
            Copy
          </button>
        </p>
      )}
      {error && <ErrorNote error={error} />}
      <div class="button-row">
        {ended && (
          <a class="button primary" href={formatAddress({ view: "runs", rest: [ended.name] })}>
            Look at the run
          </a>
        )}
        <button type="button" class="button" disabled={isPending || isReadonly} onClick={() => send("", "Marked as seen.")}>
          Mark as seen
        </button>
      </div>
    </div>
  );
}
