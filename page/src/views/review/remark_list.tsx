// All comments on a change, each with what became of it; those on lines are in the code as well.
import type { JSX } from "preact";
import type { ShownRemark } from "../../api/types";
import { splitHidden } from "../../parts/diff/visible_text";
import { showLine } from "./code_places";
import { RemarkCard } from "./remark_card";

/** What was commented: a file, or a line of one. */
const PLACE = /^(.*?)(?::(\d+))?$/s;

export interface RemarkListProps {
  /** The lines that comments belong to in the commit that is shown, by the ids of the comments. */
  places: Readonly<Record<string, number>>;
  remarks: readonly ShownRemark[];
  viewer: string;
  onChanged: () => void;
}

export function RemarkList(props: RemarkListProps): JSX.Element | null {
  const { remarks } = props;
  if (remarks.length === 0) return null;
  const open = remarks.filter((one) => one.state !== "addressed" && one.state !== "outdated");
  const settled = remarks.filter((one) => !open.includes(one));
  return (
    <section class="review-section" aria-labelledby="remarks-title">
      <h2 id="remarks-title">Comments</h2>
      <ul class="plain-list remark-list">
        {open.map((one) => (
          <RemarkItem key={one.id} {...props} remark={one} />
        ))}
      </ul>
      {settled.length > 0 && (
        <details>
          <summary>{settled.length} addressed or outdated</summary>
          <ul class="plain-list remark-list">
            {settled.map((one) => (
              <RemarkItem key={one.id} {...props} remark={one} />
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function RemarkItem({ remark, places, viewer, onChanged }: RemarkListProps & { remark: ShownRemark }): JSX.Element {
  const [, path = "", line] = PLACE.exec(remark.place) ?? [];
  return (
    <li>
      {remark.place ? (
        <button type="button" class="link-button" onClick={() => showLine(path, places[remark.id] ?? Number(line ?? 0))}>
          {splitHidden(remark.place)}
        </button>
      ) : (
        <span class="muted">The whole change</span>
      )}
      {remark.code && <code class="remark-code">{splitHidden(remark.code.trim())}</code>}
      <RemarkCard remark={remark} viewer={viewer} onChanged={onChanged} />
    </li>
  );
}
