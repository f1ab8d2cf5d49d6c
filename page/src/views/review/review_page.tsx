// One change: what judges it and what was said about it first, then its code, and the decision always in reach.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ReviewPage as ReviewAnswer } from "../../api/types";
import { Age } from "../../parts/age";
import { Badge, LevelBadge, StatusBadge } from "../../parts/badge";
import { splitHidden } from "../../parts/diff/visible_text";
import { Markdown } from "../../parts/markdown";
import { ErrorNote, LoadingNote } from "../../parts/notes";
import { formatAddress, taskAddress, useAddress } from "../../router";
import { useCommands } from "../../state/commands";
import { useIsReadonly } from "../../state/projects";
import { useRead } from "../../state/read";
import { AcceptDialog } from "./accept_dialog";
import { ChangeCode } from "./change_code";
import { EvidenceSection } from "./evidence_section";
import { useKeptFiles } from "./kept_files";
import { RejectDialog } from "./reject_dialog";
import { RemarkList } from "./remark_list";
import { VerdictList } from "./verdict_list";

const ENTITIES = ["review", "review_remark", "task", "evidence"];

export function ReviewPage({ subject }: { subject: string }): JSX.Element {
  const { answer, error, reload } = useRead("review", { subject }, { on: ENTITIES });
  if (!answer) return error ? <ErrorNote error={error} onRetry={reload} /> : <LoadingNote />;
  return <LoadedReview found={answer} reload={reload} />;
}

function LoadedReview({ found, reload }: { found: ReviewAnswer; reload: () => void }): JSX.Element {
  const { filters } = useAddress();
  const isReadonly = useIsReadonly();
  const { task, review } = found;
  const [asking, setAsking] = useState<"accept" | "reject" | null>(null);
  const [places, setPlaces] = useState<Readonly<Record<string, number>>>({});
  const kept = useKeptFiles(review?.id ?? "");
  const drafts = found.remarks.filter((one) => one.state === "draft").length;
  const isOpen = review?.status === "open" && !isReadonly;
  const decide = (what: "accept" | "reject") => (isOpen ? setAsking(what) : undefined);
  useCommands([
    { title: "Accept the change", group: "Review", keys: "a", run: () => decide("accept") },
    { title: "Ask for changes", group: "Review", keys: "r", run: () => decide("reject") },
  ]);
  const asked = review && { review: review.id, commit: review.commit_id, tree: review.tree, title: task.title };
  const close = () => setAsking(null);
  return (
    <div class="review-page">
      <ReviewHead found={found} />
      <EvidenceSection found={found} />
      {task.description && (
        <details class="review-section">
          <summary>
            <h2>Description</h2>
          </summary>
          <Markdown text={task.description} />
        </details>
      )}
      <VerdictList verdicts={found.verdicts} />
      <RemarkList remarks={found.remarks} places={places} viewer={found.viewer} onChanged={reload} />
      <ChangeCode
        query={{ subject: review?.id ?? task.id, since: filters.since ?? "base" }}
        hasPrevious={found.previous !== undefined && found.previous !== ""}
        remarks={found.remarks}
        viewer={found.viewer}
        reviewId={isOpen ? review.id : ""}
        kept={isOpen ? kept : undefined}
        onPlaces={setPlaces}
        onChanged={reload}
      />
      {isOpen && (
        <div class="decision-bar" role="group" aria-label="Decision">
          <span class="muted">
            {drafts > 0 && `${drafts} ${drafts === 1 ? "draft" : "drafts"} not sent. `}
            {kept.files.size > 0 && `${kept.files.size} ${kept.files.size === 1 ? "file is" : "files are"} right.`}
          </span>
          <button type="button" class="button" onClick={() => setAsking("reject")}>
            Ask for changes… <kbd>r</kbd>
          </button>
          <button type="button" class="button primary" onClick={() => setAsking("accept")}>
            Accept… <kbd>a</kbd>
          </button>
        </div>
      )}
      {asking === "accept" && asked && <AcceptDialog subject={asked} findings={found.findings.length} onDecided={reload} onClose={close} />}
      {asking === "reject" && asked && <RejectDialog subject={asked} drafts={drafts} keptFiles={[...kept.files]} onDecided={reload} onClose={close} />}
    </div>
  );
}

function ReviewHead({ found }: { found: ReviewAnswer }): JSX.Element {
  const { task, review } = found;
  return (
    <>
      <header class="view-head review-head">
        <h1>{splitHidden(task.title)}</h1>
        <StatusBadge status={task.status} />
        <LevelBadge level={found.level} />
      </header>
      <p class="review-facts muted">
        <span>
          Task <a href={taskAddress(task.id)}>{task.id}</a>
        </span>
        {review && (
          <span>
            Commit <code title={review.commit_id}>{review.commit_id.slice(0, 8)}</code>
            {review.asked_by && ` by ${review.asked_by}`}, <Age at={review.created_at} />
          </span>
        )}
        {found.run && (
          <span>
            Run <a href={formatAddress({ view: "runs", rest: [found.run] })}>{splitHidden(found.run)}</a>,{" "}
            <a href={formatAddress({ view: "review", rest: ["run", found.run] })}>all that it changed</a>
          </span>
        )}
        {review && (review.round ?? 1) > 1 && <span>Round {review.round}</span>}
      </p>
      {found.waits_for.length > 0 && (
        <p>
          <Badge tone="info">waits for {found.waits_for.join(" and ")}</Badge>{" "}
          {review?.reasons && <span class="muted">{splitHidden(review.reasons.join("; "))}</span>}
        </p>
      )}
      {review && review.status !== "open" && (
        <p>
          The review is over: <strong>{REVIEW_WORDS[review.status] ?? review.status}</strong>.
        </p>
      )}
      {found.newest && (
        <p class="newer-note" role="status">
          A newer change was put up. <a href={formatAddress({ view: "review", rest: [found.newest] })}>Look at that one</a>
        </p>
      )}
    </>
  );
}

const REVIEW_WORDS: Readonly<Record<string, string>> = {
  accepted: "it was accepted",
  changes: "changes were asked for",
  replaced: "a newer change took its place",
  withdrawn: "the task went on without it",
};
