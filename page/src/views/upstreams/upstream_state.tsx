// In which state a server is, in words and a colour, and how that is known.
import type { JSX } from "preact";
import type { UpstreamEntry } from "../../api/types";
import { Age } from "../../parts/age";
import { Badge, type BadgeTone } from "../../parts/badge";
import { formatDuration } from "../../parts/age";

type State = UpstreamEntry["state"];

const STATES: Record<State, readonly [BadgeTone, string]> = {
  ready: ["good", "ready"],
  degraded: ["warning", "does not answer"],
  connecting: ["info", "starting"],
  failed: ["bad", "failed"],
  broken: ["bad", "configured wrong"],
  needs_login: ["warning", "needs a login"],
  awaiting_trust: ["warning", "not approved"],
  disabled: ["quiet", "disabled"],
  untested: ["quiet", "not connected here"],
};

export function StateBadge({ entry }: { entry: UpstreamEntry }): JSX.Element {
  const [tone, words] = STATES[entry.state];
  return <Badge tone={tone}>{words}{entry.trust === "changed" && ", it has changed"}</Badge>;
}

/** How a state is known, and how old it is. */
export function StateSource({ entry }: { entry: UpstreamEntry }): JSX.Element {
  if (entry.state_from === "live") {
    return (
      <span title="This process serves sessions over MCP, and the state is that of its connection.">
        live{entry.at && <>, <Age at={entry.at} prefix="for" /></>}
      </span>
    );
  }
  if (entry.state_from === "tested" && entry.at) {
    return (
      <span title="So it was when it was last tested from this page. Sessions have connections of their own.">
        tested here <Age at={entry.at} isAgo />
      </span>
    );
  }
  return <span title="Nothing was connected to find that out.">from the configuration</span>;
}

/** How many tools a server has. A server that failed does not have none: it is not known. */
export function ToolCount({ entry }: { entry: UpstreamEntry }): JSX.Element {
  if (entry.tools === null) return <span class="muted">tools not known</span>;
  const count = `${entry.tools} ${entry.tools === 1 ? "tool" : "tools"}`;
  return <span>{entry.tools_are_old ? `${count} when last connected` : count}</span>;
}

export function Latency({ entry }: { entry: UpstreamEntry }): JSX.Element | null {
  if (entry.latency_ms === null) return null;
  const connected = entry.connect_ms === null ? "" : `, connected in ${formatDuration(entry.connect_ms / 1000)}`;
  return <span>{`${entry.latency_ms} ms${connected}`}</span>;
}
