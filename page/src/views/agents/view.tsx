// Who works here: agents, where they are and what they do, and the newest sessions.
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { AgentsPage, SessionRecord, WorkingAgent } from "../../api/types";
import { Age } from "../../parts/age";
import { Badge } from "../../parts/badge";
import { ConfirmDialog, findContent } from "../../parts/dialog";
import { IdLink } from "../../parts/id_text";
import { useKeptFocus } from "../../parts/kept_focus";
import { EmptyView, ErrorNote, LoadingNote } from "../../parts/notes";
import { Table } from "../../parts/table";
import { useAddress } from "../../router";
import { useAction } from "../../state/action";
import { useCommands } from "../../state/commands";
import { showToast } from "../../state/messages";
import { usePolling } from "../../state/polling";
import { useIsReadonly } from "../../state/projects";
import { useRead } from "../../state/read";
import { AgentCard } from "./agent_card";
import { EndAgentDialog } from "./end_agent";

/** A process that ends, and an agent that is silent, leave no event. */
const REFRESH_MS = 5_000;

export default function AgentsView(): JSX.Element {
  const { answer, error, reload } = useRead("agents", {}, { on: ["agent", "task", "session"] });
  const [ending, setEnding] = useState<WorkingAgent | null>(null);
  const [isReaping, setReaping] = useState(false);
  const isReadonly = useIsReadonly();
  const stale = answer?.agents.filter((one) => one.agent.status === "stale") ?? [];
  usePolling(reload, REFRESH_MS, true);
  useKeptFocus(findContent);
  const commands = [
    ...(answer?.agents ?? []).map((one) => ({ title: `End ${one.agent.name}`, group: "Agents", run: () => setEnding(one) })),
    ...(stale.length ? [{ title: "Remove stale agents", group: "Agents", run: () => setReaping(true) }] : []),
  ];
  useCommands(isReadonly ? [] : commands);
  return (
    <>
      <header class="view-head">
        <h1>Agents</h1>
        {stale.length > 0 && !isReadonly && (
          <button type="button" class="button" onClick={() => setReaping(true)}>
            Remove {stale.length} stale
          </button>
        )}
      </header>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!answer && !error && <LoadingNote />}
      {answer && <AgentLists page={answer} onEnd={isReadonly ? null : setEnding} />}
      {ending && <EndAgentDialog agent={ending} onClose={() => setEnding(null)} />}
      {isReaping && <ReapDialog stale={stale} onClose={() => setReaping(false)} />}
    </>
  );
}

function AgentLists({ page, onEnd }: { page: AgentsPage; onEnd: ((agent: WorkingAgent) => void) | null }): JSX.Element {
  const chosen = useAddress().rest[0] ?? "";
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => list.current?.querySelector(".chosen")?.scrollIntoView({ block: "nearest" }), [chosen]);
  return (
    <div class="agents">
      {page.agents.length === 0 && (
        <EmptyView title="No agent is registered.">
          <p>
            One registers itself when its client connects over MCP, or in its shell with <code>bn orient</code>.
          </p>
        </EmptyView>
      )}
      <ul class="agent-list" ref={list} aria-label="Registered agents">
        {page.agents.map((one) => (
          <AgentCard key={one.agent.id} one={one} isChosen={one.agent.id === chosen} onEnd={onEnd} />
        ))}
      </ul>
      {page.cut && <p class="hint">Only those that were active last are shown.</p>}
      {page.sessions.length > 0 && <Sessions sessions={page.sessions} />}
      {page.ended.length > 0 && (
        <details class="ended-agents">
          <summary>Ended lately ({page.ended.length})</summary>
          <ul class="agent-list" aria-label="Agents that ended lately">
            {page.ended.map((one) => (
              <AgentCard key={one.agent.id} one={one} isChosen={one.agent.id === chosen} onEnd={null} />
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

const SESSION_TONES = { active: "info", complete: "good", aborted: "bad" } as const;

function Sessions({ sessions }: { sessions: SessionRecord[] }): JSX.Element {
  return (
    <section class="sessions">
      <h2>Planned sessions</h2>
      <Table
        label="Planned sessions, the newest first"
        rows={sessions}
        keyOf={(one) => one.id}
        columns={[
          { title: "Session", render: (one) => <IdLink id={one.id} /> },
          { title: "State", render: (one) => <Badge tone={SESSION_TONES[one.status ?? "active"]}>{one.status ?? "active"}</Badge> },
          { title: "Name", render: (one) => one.name ?? "" },
          { title: "Recipe", render: (one) => one.recipe ?? "" },
          { title: "About", render: (one) => (one.task_id ? <IdLink id={one.task_id} /> : (one.feature ?? "")) },
          { title: "Place", render: (one) => one.place ?? "" },
          { title: "Began", render: (one) => <Age at={one.created_at} /> },
          { title: "Ended", render: (one) => one.ended_at && <Age at={one.ended_at} /> },
          { title: "Why", render: (one) => one.reason ?? "" },
        ]}
      />
    </section>
  );
}

function ReapDialog({ stale, onClose }: { stale: WorkingAgent[]; onClose: () => void }): JSX.Element {
  const { run, isPending } = useAction("reap_agents");
  const reap = async () => {
    const answer = await run({});
    if (answer) showToast(answer.reaped.length ? `Removed ${answer.reaped.map((one) => one.name).join(", ")}.` : "No agent is stale any more.");
    onClose();
  };
  return (
    <ConfirmDialog title="Remove stale agents?" action="Remove them" isPending={isPending} onConfirm={reap} onClose={onClose}>
      <p>Their registration ends and their tasks are given back. No process is ended.</p>
      <ul class="plain-list">
        {stale.map((one) => (
          <li key={one.agent.id}>
            {one.agent.name} <span class="muted">{one.agent.id}</span>, {one.agent.alive === false ? "its process is gone" : "silent"}{" "}
            <Age at={one.agent.active_at} prefix="since" />
          </li>
        ))}
      </ul>
    </ConfirmDialog>
  );
}
