// Asks again before a change is accepted, with exactly what is accepted.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { splitHidden } from "../../parts/diff/visible_text";
import { ConfirmDialog } from "../../parts/dialog";
import { TextField } from "../../parts/form";
import { ErrorNote } from "../../parts/notes";
import { useAction } from "../../state/action";
import { showError, showToast } from "../../state/messages";

export interface ReviewSubject {
  review: string;
  commit: string;
  tree: string;
  title: string;
}

export interface DecisionDialogProps {
  subject: ReviewSubject;
  /** Called with true when the decision is on its way, and with false if it was refused. */
  onDecided: (isKept: boolean) => void;
  onClose: () => void;
}

export function AcceptDialog({ subject, findings, onDecided, onClose }: DecisionDialogProps & { findings: number }): JSX.Element {
  const { run, isPending, error } = useAction("accept_review", { errors: "inline" });
  const [message, setMessage] = useState("");
  const { review, commit, tree } = subject;
  const accept = async () => {
    onDecided(true);
    const decided = await run({ review, commit, tree, message });
    if (!decided) return onDecided(false);
    showToast(decided.status === "accepted" ? `Accepted: commit ${commit.slice(0, 8)}.` : "Kept. Others have to accept it, too.");
    decided.notes.forEach(showToast);
    if (decided.missing) showError({ message: "It is accepted, and its task is not done yet.", hint: decided.missing });
    onDecided(true);
    onClose();
  };
  return (
    <ConfirmDialog title="Accept exactly this?" action={isPending ? "Accepting…" : "Accept this commit"} isPending={isPending} onConfirm={accept} onClose={onClose}>
      <p>
        <strong>{splitHidden(subject.title)}</strong>
      </p>
      <dl class="exact-facts">
        <dt>Commit</dt>
        <dd>
          <code>{commit}</code>
        </dd>
        <dt>Tree</dt>
        <dd>
          <code>{tree}</code>
        </dd>
      </dl>
      {findings > 0 && (
        <p class="warning-note">
          It changes what judges it in {findings} {findings === 1 ? "place" : "places"}.
        </p>
      )}
      <p class="muted">A newer commit is not accepted with it. Checks that still have to pass run now.</p>
      <TextField label="What you say about it (optional)" value={message} onChange={setMessage} rows={2} />
      {error && <ErrorNote error={error} />}
    </ConfirmDialog>
  );
}
