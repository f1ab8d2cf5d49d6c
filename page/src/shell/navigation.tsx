// The list of views, with how much there is in them.
import type { JSX } from "preact";
import type { ViewCounts } from "../api/types";
import { Icon } from "../parts/icon";
import { formatAddress, useAddress } from "../router";
import { NAVIGATION } from "../views/all_views";

export function Navigation({ counts }: { counts: ViewCounts | undefined }): JSX.Element {
  const { view: current, project } = useAddress();
  const shown: Record<string, number | undefined> = {
    "needs_you": counts?.needs_you,
    board: counts?.open_tasks,
    runs: counts?.runs,
    review: counts?.reviews,
    agents: counts?.agents,
  };
  return (
    <nav class="views" aria-label="Views">
      <ul>
        {NAVIGATION.map((view) => {
          const isCurrent = view.name === current || (view.name === "board" && current === "task");
          const count = shown[view.name];
          return (
            <li key={view.name}>
              <a
                href={formatAddress({ project, view: view.name })}
                class={`view-link ${view.name === "needs_you" && count ? "urgent" : ""}`}
                aria-current={isCurrent ? "page" : undefined}
              >
                <Icon name={view.icon} />
                <span class="view-title">{view.title}</span>
                {count ? <span class="count">{count}</span> : null}
              </a>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
