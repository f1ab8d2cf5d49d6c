// Asks for changes: everything that was commented is sent to the next attempt together.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { splitHidden } from "../../parts/diff/visible_text";
import { Dialog } from "../../parts/dialog";
import { Form, TextField } from "../../parts/form";
import { useAction } from "../../state/action";
import { showToast } from "../../state/messages";
import type { DecisionDialogProps } from "./accept_dialog";

const MAX_NAMED = 20;

export interface RejectDialogProps extends DecisionDialogProps {
  /** How many comments are sent with it. */
  drafts: number;
  keptFiles: readonly string[];
}

export function RejectDialog({ subject, drafts, keptFiles, onDecided, onClose }: RejectDialogProps): JSX.Element {
  const { run, isPending, error } = useAction("reject_review", { errors: "inline" });
  const [message, setMessage] = useState("");
  const { review, commit } = subject;
  const reject = async () => {
    onDecided(true);
    const decided = await run({ review, commit, message, kept_files: [...keptFiles] });
    if (!decided) return onDecided(false);
    const sent = decided.sent === 1 ? "1 comment was sent." : `${decided.sent} comments were sent.`;
    showToast(`Changes are asked for. ${sent}`);
    onDecided(true);
    onClose();
  };
  return (
    <Dialog title="Ask for changes" onClose={onClose}>
      <p>
        <strong>{splitHidden(subject.title)}</strong>, commit <code>{commit.slice(0, 8)}</code>
      </p>
      {drafts > 0 && <p>{drafts === 1 ? "Your draft is sent with it." : `Your ${drafts} drafts are sent with it.`}</p>}
      {keptFiles.length > 0 && (
        <details>
          <summary>{keptFiles.length === 1 ? "1 file is right and stays as it is" : `${keptFiles.length} files are right and stay as they are`}</summary>
          <ul>
            {keptFiles.slice(0, MAX_NAMED).map((path) => (
              <li key={path}>
                <code>{splitHidden(path)}</code>
              </li>
            ))}
          </ul>
        </details>
      )}
      <Form
        label="Ask for changes"
        action="Ask for changes"
        isPending={isPending}
        isReady={message.trim() !== "" || drafts > 0}
        error={error}
        onSubmit={reject}
        onCancel={onClose}
      >
        <TextField label={drafts > 0 ? "Anything else (optional)" : "What has to be another way"} value={message} onChange={setMessage} rows={4} isFocused />
      </Form>
    </Dialog>
  );
}
