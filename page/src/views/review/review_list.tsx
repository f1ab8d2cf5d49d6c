// Which changes wait for whom.
import type { JSX } from "preact";
import type { ReviewEntry } from "../../api/types";
import { Age } from "../../parts/age";
import { Badge, LevelBadge, statusWords } from "../../parts/badge";
import { splitHidden } from "../../parts/diff/visible_text";
import { EmptyView, ErrorNote, LoadingNote } from "../../parts/notes";
import { Table } from "../../parts/table";
import { Tabs } from "../../parts/tabs";
import { formatAddress, setFilters, useAddress } from "../../router";
import { useRead } from "../../state/read";

const ENTITIES = ["review", "task", "review_verdict"];
const PAGE_SIZE = 50;

export function ReviewList(): JSX.Element {
  const { filters } = useAddress();
  const isAll = filters.show === "all";
  const offset = Math.max(0, Number(filters.from ?? 0) || 0);
  const { answer, error, reload } = useRead("review_list", { all: isAll, limit: PAGE_SIZE, offset }, { on: ENTITIES });
  return (
    <div class="review-list">
      <header class="view-head">
        <h1>Review</h1>
      </header>
      <Tabs
        label="Which reviews"
        tabs={[
          { name: "waiting", title: "Waiting" },
          { name: "all", title: "All" },
        ]}
        chosen={isAll ? "all" : "waiting"}
        onChoose={(name) => setFilters({ show: name === "all" ? "all" : "", from: "" })}
      >
        {error && <ErrorNote error={error} onRetry={reload} />}
        {!answer && !error && <LoadingNote />}
        {answer && <Entries entries={answer.reviews} total={answer.total} offset={offset} />}
      </Tabs>
    </div>
  );
}

function Entries({ entries, total, offset }: { entries: readonly ReviewEntry[]; total: number; offset: number }): JSX.Element {
  if (entries.length === 0) return <EmptyView title="No change waits for a review.">Changes appear here when somebody has to look at them.</EmptyView>;
  return (
    <>
      <Table
        label="Reviews"
        rows={entries}
        keyOf={(one) => one.review || one.task_id}
        columns={[
          { title: "Change", render: (one) => <ReviewLink entry={one} /> },
          { title: "Waits for", render: (one) => (one.waits_for ?? []).join(" and ") || statusWords(one.state) },
          { title: "Evidence", render: (one) => <LevelBadge level={one.level ?? ""} /> },
          { title: "Run", render: (one) => splitHidden(one.run ?? "") },
          { title: "Age", render: (one) => <Age at={one.at} /> },
        ]}
      />
      {total > PAGE_SIZE && (
        <nav class="button-row pages" aria-label="Pages">
          <button type="button" class="button" disabled={offset === 0} onClick={() => setFilters({ from: String(Math.max(0, offset - PAGE_SIZE)) })}>
            Newer
          </button>
          <span class="muted">
            {offset + 1} to {offset + entries.length} of {total}
          </span>
          <button type="button" class="button" disabled={offset + entries.length >= total} onClick={() => setFilters({ from: String(offset + PAGE_SIZE) })}>
            Older
          </button>
        </nav>
      )}
    </>
  );
}

function ReviewLink({ entry }: { entry: ReviewEntry }): JSX.Element {
  return (
    <>
      <a href={formatAddress({ view: "review", rest: [entry.review || entry.task_id] })}>{splitHidden(entry.title)}</a>{" "}
      {(entry.round ?? 1) > 1 && <Badge tone="quiet">round {entry.round}</Badge>}
      {entry.reasons && <span class="hint"> {splitHidden(entry.reasons.join("; "))}</span>}
    </>
  );
}
