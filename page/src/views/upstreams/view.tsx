// The MCP servers whose tools agents get through Binnacle: the list, or one of them.
import type { JSX } from "preact";
import type { ConfigProblem, UpstreamEntry } from "../../api/types";
import { Badge } from "../../parts/badge";
import { EmptyView, ErrorNote, LoadingNote } from "../../parts/notes";
import { formatAddress, useAddress } from "../../router";
import { usePolling } from "../../state/polling";
import { useRead } from "../../state/read";
import { UpstreamActions } from "./upstream_actions";
import { UpstreamDetail } from "./upstream_detail";
import { Latency, StateBadge, StateSource, ToolCount } from "./upstream_state";

const REFRESH_MS = 4_000;

export default function UpstreamsView(): JSX.Element {
  const name = useAddress().rest[0];
  return name ? <UpstreamDetail key={name} name={name} /> : <UpstreamList />;
}

function UpstreamList(): JSX.Element {
  const { answer, error, reload } = useRead("upstreams", {}, { on: ["trust", "discipline"] });
  const isMoving = answer?.is_serving || answer?.servers.some((one) => one.is_testing);
  usePolling(reload, REFRESH_MS, isMoving ?? false);
  return (
    <>
      <header class="view-head">
        <h1>Upstream servers</h1>
      </header>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!answer && !error && <LoadingNote />}
      {answer?.problems.map((problem) => <ProblemNote key={problem.where} problem={problem} />)}
      {answer && answer.servers.length === 0 && (
        <EmptyView title="No upstream server is configured.">
          <p>
            Add one with <code>bn upstream add NAME URL</code>. Its tools then come to agents through Binnacle.
          </p>
        </EmptyView>
      )}
      {answer && answer.servers.length > 0 && (
        <>
          {!answer.is_serving && (
            <p class="hint">
              Sessions connect to these servers themselves. A state shown here is that of the last test, or what the configuration says.
            </p>
          )}
          <ul class="upstream-list" aria-label="Upstream servers">
            {answer.servers.map((one) => (
              <UpstreamRow key={one.server.name} entry={one} onChange={reload} />
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function UpstreamRow({ entry, onChange }: { entry: UpstreamEntry; onChange: () => void }): JSX.Element {
  const { server } = entry;
  return (
    <li class="card-box upstream-row">
      <div class="upstream-main">
        <h2>
          <a href={formatAddress({ view: "upstreams", rest: [server.name] })}>{server.name}</a> <StateBadge entry={entry} />
          {entry.changed_tools > 0 && <Badge tone="warning">changed tools: {entry.changed_tools}</Badge>}
        </h2>
        <p class="upstream-target">
          <code>{server.target}</code>
        </p>
        {entry.reason && entry.state !== "ready" && <p class={`upstream-reason ${entry.state === "disabled" ? "muted" : ""}`}>{entry.reason}</p>}
        <p class="hint upstream-facts">
          <StateSource entry={entry} />
          <ToolCount entry={entry} />
          <Latency entry={entry} />
          {entry.disciplines.length > 0 && <span>brought by {entry.disciplines.join(", ")}</span>}
        </p>
      </div>
      <UpstreamActions entry={entry} onChange={onChange} isShort />
    </li>
  );
}

export function ProblemNote({ problem }: { problem: ConfigProblem }): JSX.Element {
  return <ErrorNote error={{ message: `${problem.where}: ${problem.message}`, hint: problem.hint }} />;
}
