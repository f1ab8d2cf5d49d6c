// Everything that a run changed, merged or not.
import type { JSX } from "preact";
import { formatAddress, useAddress } from "../../router";
import { ChangeCode } from "./change_code";

export function RunChangePage({ run }: { run: string }): JSX.Element {
  const { filters } = useAddress();
  return (
    <div class="review-page">
      <header class="view-head">
        <h1>What the run {run} changed</h1>
        <a class="button" href={formatAddress({ view: "runs", rest: [run] })}>
          Look at the run
        </a>
      </header>
      <ChangeCode query={{ run, since: filters.since ?? "base" }} hasPrevious={false} remarks={[]} viewer="" reviewId="" onChanged={() => undefined} />
    </div>
  );
}
