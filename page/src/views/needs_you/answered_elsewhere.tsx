// Causes that went away while they were shown, because somebody else answered or their cause is gone: who, and what.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../../api/client";
import type { CauseAnswer, OpenCause } from "../../api/types";
import { Age } from "../../parts/age";
import { splitHidden } from "../../parts/diff/visible_text";
import { useAddress } from "../../router";
import { announce } from "../../state/messages";

const MAX_NOTES = 5;

/** The answers of others, newest first. `own` are causes that were answered here. */
export function useAnsweredElsewhere(causes: readonly OpenCause[] | undefined, own: ReadonlySet<string>): readonly CauseAnswer[] {
  const { project } = useAddress();
  const [notes, setNotes] = useState<readonly CauseAnswer[]>([]);
  const before = useRef<readonly string[]>([]);
  useEffect(() => {
    if (!causes) return;
    const now = causes.map((one) => one.id);
    const gone = before.current.filter((id) => !now.includes(id) && !own.has(id));
    before.current = now;
    if (gone.length === 0) return;
    api.read(project, "cause_answers", { ids: gone }).then(
      ({ answers }) => {
        setNotes((known) => [...answers, ...known].slice(0, MAX_NOTES));
        answers.forEach((one) => announce(describeAnswer(one)));
      },
      () => undefined, // the card is gone; who answered it is in the log as well
    );
  }, [causes]);
  return notes;
}

function describeAnswer(one: CauseAnswer): string {
  if (!one.answer) return "No longer waits for an answer";
  return `${one.answered_by || "Somebody"} answered: ${one.answer}`;
}

export function AnsweredNotes({ notes }: { notes: readonly CauseAnswer[] }): JSX.Element | null {
  if (notes.length === 0) return null;
  return (
    <ul class="answered-notes" aria-label="Answered elsewhere">
      {notes.map((one) => (
        <li key={one.id}>
          <strong>{splitHidden(describeAnswer(one))}</strong> <span class="muted">{splitHidden(one.title)}</span>{" "}
          {one.answered_at && <Age at={one.answered_at} />}
        </li>
      ))}
    </ul>
  );
}
