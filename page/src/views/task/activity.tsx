// What was said about a task, and what happened to it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Age } from "../../parts/age";
import { Form, TextField } from "../../parts/form";
import { Markdown } from "../../parts/markdown";
import { ErrorNote, LoadingNote } from "../../parts/notes";
import { Tabs } from "../../parts/tabs";
import { setFilters, useAddress } from "../../router";
import { useAction } from "../../state/action";
import { useRead } from "../../state/read";
import { nameOf, type SectionProps } from "./section_props";

const HISTORY_STEP = 50;
const MAX_HISTORY = 200;

export function TaskActivity(props: SectionProps): JSX.Element {
  const { filters } = useAddress();
  const chosen = filters.tab === "history" ? "history" : "comments";
  const comments = props.page.details.comments ?? [];
  return (
    <section class="task-section" aria-label="Activity">
      <Tabs
        label="Activity"
        tabs={[
          { name: "comments", title: "Comments", count: comments.length },
          { name: "history", title: "History" },
        ]}
        chosen={chosen}
        onChoose={(tab) => setFilters({ tab: tab === "comments" ? "" : tab })}
      >
        {chosen === "comments" ? <Comments {...props} /> : <History id={props.page.details.task.id} />}
      </Tabs>
    </section>
  );
}

function Comments({ page, isReadonly, onChanged }: SectionProps): JSX.Element {
  const { comments = [], questions = [], task } = page.details;
  const answered = questions.filter((one) => one.answered_at);
  const said = [
    ...comments.map((one) => ({ id: one.id, who: nameOf(page, one.author), at: one.created_at, text: one.body, note: one.discipline ?? "" })),
    ...answered.map((one) => ({
      id: one.id,
      who: nameOf(page, one.asked_by),
      at: one.created_at,
      text: `${one.text}\n\n> **${nameOf(page, one.answered_by ?? "")}**: ${one.answer ?? ""}`,
      note: "asked",
    })),
  ].sort((a, b) => a.at.localeCompare(b.at));
  return (
    <>
      {said.length === 0 && <p class="muted">Nobody has commented on it.</p>}
      <ul class="comments">
        {said.map((one) => (
          <li key={one.id}>
            <p class="comment-head">
              <b>{one.who}</b> <span class="muted">{one.note}</span> <Age at={one.at} />
            </p>
            <Markdown text={one.text} />
          </li>
        ))}
      </ul>
      {!isReadonly && <AddComment id={task.id} onAdded={onChanged} />}
    </>
  );
}

function AddComment({ id, onAdded }: { id: string; onAdded: () => void }): JSX.Element {
  const [body, setBody] = useState("");
  const action = useAction("add_comment", { errors: "inline" });
  const add = async () => {
    if (!(await action.run({ id, body }))) return;
    setBody("");
    onAdded();
  };
  return (
    <Form label="Add a comment" action="Comment" isPending={action.isPending} isReady={body.trim() !== ""} error={action.error} onSubmit={() => void add()}>
      <TextField label="Comment" isLabelHidden placeholder="Say something to whoever works on it" value={body} onChange={setBody} rows={3} />
    </Form>
  );
}

function History({ id }: { id: string }): JSX.Element {
  const [limit, setLimit] = useState(HISTORY_STEP);
  const log = useRead("log", { about: id, limit });
  if (!log.answer) return log.error ? <ErrorNote error={log.error} onRetry={log.reload} /> : <LoadingNote />;
  return (
    <>
      <ol class="history">
        {log.answer.entries.map((one) => (
          <li key={one.seq}>
            <Age at={one.at} /> <b>{one.actor_name}</b> {one.sentence}
          </li>
        ))}
      </ol>
      {log.answer.before !== null && limit < MAX_HISTORY && (
        <button type="button" class="button" onClick={() => setLimit(MAX_HISTORY)}>
          Show more
        </button>
      )}
    </>
  );
}
