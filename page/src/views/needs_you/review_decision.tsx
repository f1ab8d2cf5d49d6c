// Deciding a review in its card, for changes that one does not have to look at line by line.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { LevelBadge } from "../../parts/badge";
import { formatAddress } from "../../router";
import { useIsReadonly } from "../../state/projects";
import { AcceptDialog } from "../review/accept_dialog";
import { RejectDialog } from "../review/reject_dialog";
import type { CauseCardProps } from "./cause_card";

export function ReviewDecision({ cause, onAnswered }: CauseCardProps): JSX.Element {
  const isReadonly = useIsReadonly();
  const [asking, setAsking] = useState<"accept" | "reject" | null>(null);
  const { review, task } = cause;
  const subject = review?.review || review?.task_id || task?.id || "";
  const close = () => setAsking(null);
  return (
    <div class="decision">
      {review && (
        <p class="cause-facts muted">
          <span>
            Commit <code>{(review.commit ?? "").slice(0, 8)}</code> <LevelBadge level={review.level ?? ""} />
          </span>
          {(review.round ?? 1) > 1 && <span>Round {review.round}</span>}
          {cause.findings && <strong>Changes what judges it in {cause.findings} {cause.findings === 1 ? "place" : "places"}</strong>}
          {review.waits_for && <span>Waits for {review.waits_for.join(" and ")}</span>}
        </p>
      )}
      <div class="button-row">
        <a class="button primary" href={formatAddress({ view: "review", rest: [subject] })}>
          Look at the change
        </a>
        {review?.review && (
          <>
            <button type="button" class="button" disabled={isReadonly} onClick={() => setAsking("accept")}>
              {review.state === "accepted" ? "Run its checks and close…" : "Accept…"}
            </button>
            {review.state === "open" && (
              <button type="button" class="button" disabled={isReadonly} onClick={() => setAsking("reject")}>
                Ask for changes…
              </button>
            )}
          </>
        )}
      </div>
      {asking && review?.review && (
        <DecisionDialog
          asking={asking}
          subject={{ review: review.review, commit: review.commit ?? "", tree: cause.tree ?? "", title: task?.title ?? cause.title }}
          findings={cause.findings ?? 0}
          onDecided={onAnswered}
          onClose={close}
        />
      )}
    </div>
  );
}

interface DecisionDialogProps {
  asking: "accept" | "reject";
  subject: { review: string; commit: string; tree: string; title: string };
  findings: number;
  onDecided: (isKept: boolean) => void;
  onClose: () => void;
}

function DecisionDialog({ asking, subject, findings, onDecided, onClose }: DecisionDialogProps): JSX.Element {
  if (asking === "accept") return <AcceptDialog subject={subject} findings={findings} onDecided={onDecided} onClose={onClose} />;
  return <RejectDialog subject={subject} drafts={0} keptFiles={[]} onDecided={onDecided} onClose={onClose} />;
}
