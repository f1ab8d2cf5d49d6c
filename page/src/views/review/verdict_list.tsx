// What reviewers said, about this tree and about earlier ones.
import type { JSX } from "preact";
import type { ShownVerdict } from "../../api/types";
import { Age } from "../../parts/age";
import { Badge } from "../../parts/badge";
import { splitHidden } from "../../parts/diff/visible_text";
import { Markdown } from "../../parts/markdown";

export function VerdictList({ verdicts }: { verdicts: readonly ShownVerdict[] }): JSX.Element | null {
  if (verdicts.length === 0) return null;
  return (
    <section class="review-section" aria-labelledby="verdicts-title">
      <h2 id="verdicts-title">Verdicts</h2>
      <ul class="plain-list">
        {verdicts.map((one) => (
          <li key={one.id} class={one.is_current ? "" : "is-past"}>
            <Badge tone={one.decision === "accept" ? "good" : "bad"}>{one.decision === "accept" ? "accepted" : "asked for changes"}</Badge>{" "}
            <strong>{one.by_person ? one.author : `agent ${one.author}`}</strong>{" "}
            {one.is_current ? (
              "this commit"
            ) : (
              <>
                commit <code>{one.commit.slice(0, 8)}</code>
              </>
            )}{" "}
            <Age at={one.at} />
            {one.message && <Markdown text={one.message} />}
            {one.is_current && one.criteria.length > 0 && (
              <ul class="verdict-criteria">
                {one.criteria.map((criterion) => (
                  <li key={criterion.criterion}>
                    {criterion.met ? "Met" : "Not met"}: {splitHidden(criterion.criterion)} {criterion.place && <code>{splitHidden(criterion.place)}</code>}
                    {criterion.note && <span class="hint"> {splitHidden(criterion.note)}</span>}
                  </li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
