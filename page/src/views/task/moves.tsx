// Moving a task to another status, with what the move needs: a reason, checks, or a second thought.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { ApiError } from "../../api/client";
import { api } from "../../api/client";
import type { MoveTask } from "../../api/types";
import { statusWords } from "../../parts/badge";
import { ConfirmDialog } from "../../parts/dialog";
import { TextField } from "../../parts/form";
import { ErrorNote } from "../../parts/notes";
import type { MenuItem } from "../../parts/menu";
import { useAddress } from "../../router";
import { checks$, runChecks } from "../../state/checks";
import { asApiError } from "../../state/faults";
import { showError, showToast } from "../../state/messages";
import { useStore } from "../../state/store";
import { ChecksDialog } from "./checks_dialog";

export type Status = MoveTask["status"];

export interface MovableTask {
  id: string;
  title: string;
  status: Status;
}

/** The statuses in the order in which work passes through them. */
export const STATUS_ORDER: readonly Status[] = [
  "draft",
  "pending",
  "in_progress",
  "needs_input",
  "blocked",
  "partial",
  "in_review",
  "done",
  "cancelled",
];

const NEEDS_REASON: readonly Status[] = ["blocked", "cancelled"];
/** Refusals that a person may overrule. */
const OVERRULED = ["E_CLAIMED", "E_REFUSED"];

type Asking =
  | { kind: "reason"; task: MovableTask; status: Status }
  | { kind: "anyway"; asked: MoveTask; task: MovableTask; error: ApiError }
  | { kind: "waive"; task: MovableTask };

export interface TaskMoves {
  move: (task: MovableTask, status: Status) => void;
  /** Closes a task without its checks, for a reason. */
  waive: (task: MovableTask) => void;
  isPending: boolean;
  /**
   * Put this somewhere on the page: it asks what a move needs. Take the object apart at once: a handler that captures
   * the dialogs keeps, through their parents, everything that was ever rendered around them.
   */
  dialogs: ComponentChildren;
}

export function useTaskMoves(onMoved: () => void = () => {}): TaskMoves {
  const { project } = useAddress();
  const [asking, setAsking] = useState<Asking | null>(null);
  const [isPending, setPending] = useState(false);
  const [shownChecks, setShownChecks] = useState("");
  const checks = useStore(checks$, (all) => all[shownChecks]);

  async function send(task: MovableTask, asked: MoveTask): Promise<void> {
    setPending(true);
    try {
      const moved = await api.act(project, "move_task", asked);
      setAsking(null);
      if (moved.checks.length > 0) {
        setShownChecks(task.id);
        void runChecks(project, moved.id, task.title, moved.checks).then(onMoved);
      } else {
        showToast([`${statusWords(moved.status)}: ${task.title}`, ...moved.warnings, ...unblocked(moved.unblocked)].join(". "));
      }
      onMoved();
    } catch (problem) {
      const error = asApiError(problem);
      if (OVERRULED.includes(error.code) && error.hint.includes("--force")) setAsking({ kind: "anyway", asked, task, error });
      else showError(error);
    } finally {
      setPending(false);
    }
  }

  function move(task: MovableTask, status: Status): void {
    if (task.status === status) return;
    if (NEEDS_REASON.includes(status)) setAsking({ kind: "reason", task, status });
    else void send(task, { id: task.id, status });
  }

  const close = () => setAsking(null);
  const waive = (task: MovableTask) => setAsking({ kind: "waive", task });
  const dialogs = (
    <>
      {asking?.kind === "reason" && <ReasonDialog {...asking} isPending={isPending} onClose={close} onSend={(asked) => void send(asking.task, asked)} />}
      {asking?.kind === "waive" && <WaiveDialog task={asking.task} isPending={isPending} onClose={close} onSend={(asked) => void send(asking.task, asked)} />}
      {asking?.kind === "anyway" && (
        <ConfirmDialog
          title={`Move it to ${statusWords(asking.asked.status).toLowerCase()} anyway?`}
          action="Move it anyway"
          isPending={isPending}
          onClose={close}
          onConfirm={() => void send(asking.task, { ...asking.asked, force: true })}
        >
          <ErrorNote error={{ message: asking.error.message, hint: "" }} />
          <p>{asking.task.title}</p>
        </ConfirmDialog>
      )}
      {checks && <ChecksDialog checks={checks} onClose={() => setShownChecks("")} onWaive={() => waive({ ...checks, status: "pending" })} />}
    </>
  );
  return { move, waive, isPending, dialogs };
}

/** The statuses that a task can be moved to, for a menu. */
export function moveItems(task: MovableTask, move: TaskMoves["move"]): MenuItem[] {
  return STATUS_ORDER.map((status) => ({
    title: statusWords(status),
    isChosen: status === task.status,
    run: () => move(task, status),
  }));
}

function unblocked(ids: readonly string[]): string[] {
  if (ids.length === 0) return [];
  return [ids.length === 1 ? `${ids[0]} is ready now` : `${ids.length} tasks are ready now`];
}

interface AskingDialogProps {
  task: MovableTask;
  isPending: boolean;
  onClose: () => void;
  onSend: (asked: MoveTask) => void;
}

function ReasonDialog({ task, status, isPending, onClose, onSend }: AskingDialogProps & { status: Status }): JSX.Element {
  const [reason, setReason] = useState("");
  const [other, setOther] = useState("");
  const isBlocked = status === "blocked";
  return (
    <ConfirmDialog
      title={isBlocked ? "What blocks it?" : "Why will it not be done?"}
      action={isBlocked ? "Block it" : "Cancel the task"}
      isPending={isPending}
      isReady={reason.trim() !== ""}
      onClose={onClose}
      onConfirm={() => onSend({ id: task.id, status, reason, ...(other.trim() && { blocked_on: other.trim() }) })}
    >
      <p>{task.title}</p>
      <TextField label="Reason" value={reason} onChange={setReason} rows={3} isRequired isFocused />
      {isBlocked && (
        <TextField
          label="The task that must be done first, if there is one"
          help="Its id. This task is ready again when that one is done."
          value={other}
          onChange={setOther}
        />
      )}
    </ConfirmDialog>
  );
}

function WaiveDialog({ task, isPending, onClose, onSend }: AskingDialogProps): JSX.Element {
  const [reason, setReason] = useState("");
  return (
    <ConfirmDialog
      title="Close it without its checks?"
      action="Close without checks"
      kind="dangerous"
      isPending={isPending}
      isReady={reason.trim() !== ""}
      onClose={onClose}
      onConfirm={() => onSend({ id: task.id, status: "done", waive: reason })}
    >
      <p>{task.title}</p>
      <p class="hint">The task is done at once. Your name and the reason are kept and shown with it.</p>
      <TextField label="Reason" value={reason} onChange={setReason} rows={3} isRequired isFocused />
    </ConfirmDialog>
  );
}
