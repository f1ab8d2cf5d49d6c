// The checks that decide whether a task is done: what they do now, and what they led to.
import type { JSX } from "preact";
import { CodeText } from "../../parts/code_text";
import { Dialog } from "../../parts/dialog";
import { forgetChecks, type RunningChecks } from "../../state/checks";

export interface ChecksDialogProps {
  checks: RunningChecks;
  onClose: () => void;
  onWaive: () => void;
}

export function ChecksDialog({ checks, onClose, onWaive }: ChecksDialogProps): JSX.Element {
  const leave = () => {
    if (!checks.isRunning) forgetChecks(checks.id);
    onClose();
  };
  const waive = () => {
    leave();
    onWaive();
  };
  const buttons = checks.isRunning ? (
    <>
      <button type="button" class="button dangerous" onClick={checks.stop}>
        Stop the checks
      </button>
      <button type="button" class="button primary" onClick={onClose}>
        Go on in the background
      </button>
    </>
  ) : (
    <>
      <button type="button" class="button" onClick={waive}>
        Close without checks…
      </button>
      <button type="button" class="button primary" onClick={leave}>
        Leave it open
      </button>
    </>
  );
  return (
    <Dialog title={checks.isRunning ? "Its checks run" : "The task is not done"} onClose={leave} footer={buttons}>
      <p>{checks.title}</p>
      {checks.isRunning ? <Progress checks={checks} /> : <CodeText text={checks.missing} label="What is missing" />}
    </Dialog>
  );
}

function Progress({ checks }: { checks: RunningChecks }): JSX.Element {
  return (
    <>
      <p class="hint">It is done when these pass, on what is committed: {checks.checks.join(", ")}.</p>
      <progress aria-label="The checks run" />
      <p class="check-progress" role="status">
        {checks.text || "They begin…"}
      </p>
    </>
  );
}
