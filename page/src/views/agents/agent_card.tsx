// One agent: whether it is alive, what it works on, and where it is.
import type { ComponentChildren, JSX } from "preact";
import type { WorkingAgent } from "../../api/types";
import { Age } from "../../parts/age";
import { Badge, type BadgeTone } from "../../parts/badge";
import { IdLink } from "../../parts/id_text";
import { formatAddress, taskAddress } from "../../router";

const STATUS_TONES: Record<string, BadgeTone> = { active: "good", idle: "warning", stale: "bad", ended: "quiet" };

const STATUS_TITLES: Record<string, string> = {
  active: "It did something within the last five minutes.",
  idle: "It did nothing for five minutes.",
  stale: "Its process is gone, or it did nothing for half an hour.",
  ended: "Its registration has ended.",
};

export interface AgentCardProps {
  one: WorkingAgent;
  isChosen: boolean;
  /** Null where it cannot be ended. */
  onEnd: ((one: WorkingAgent) => void) | null;
}

export function AgentCard({ one, isChosen, onEnd }: AgentCardProps): JSX.Element {
  const { agent } = one;
  return (
    <li class={`card-box agent-card ${isChosen ? "chosen" : ""}`}>
      <div class="agent-head">
        <h2 class="agent-name">{agent.name}</h2>
        <Badge tone={STATUS_TONES[agent.status] ?? "neutral"} title={STATUS_TITLES[agent.status] ?? ""}>
          {agent.status}
        </Badge>
        {agent.type !== "worker" && <Badge tone="quiet">{agent.type}</Badge>}
      </div>
      <AgentWork one={one} />
      <dl class="agent-facts">
        <Fact name="Last active">
          <Age at={agent.active_at} isAgo />
        </Fact>
        {one.ended_at && (
          <Fact name="Ended">
            <Age at={one.ended_at} isAgo />
          </Fact>
        )}
        <Fact name="Where">{describePlace(one)}</Fact>
        {one.folder && (
          <Fact name="Folder">
            <code>{one.folder}</code>
          </Fact>
        )}
        <Fact name="Known by">
          {agent.registered === "shell" ? "its shell" : "its MCP connection"}
          {agent.client && ` (${agent.client})`} <Age at={agent.created_at} prefix="for" />
        </Fact>
        {one.run && (
          <Fact name="Run">
            <a href={formatAddress({ view: "runs", rest: [one.run] })}>{one.run}</a>
            {one.recipe && ` with ${one.recipe}`}
          </Fact>
        )}
      </dl>
      <div class="button-row agent-foot">
        <span class="muted agent-id">{agent.id}</span>
        <a href={formatAddress({ view: "log", filters: { actor: agent.id } })}>What it did</a>
        {onEnd && (
          <button type="button" class="button dangerous" aria-label={`End ${agent.name}`} onClick={() => onEnd(one)}>
            End
          </button>
        )}
      </div>
    </li>
  );
}

function AgentWork({ one }: { one: WorkingAgent }): JSX.Element {
  return (
    <div class="agent-work">
      {one.purpose && <p>{one.purpose}</p>}
      {one.tasks.map((task) => (
        <p key={task.id}>
          works on <a href={taskAddress(task.id)}>{task.title}</a> {task.since && <Age at={task.since} prefix="for" />}
        </p>
      ))}
      {one.tasks.length === 0 && !one.ended_at && (
        <p class="muted">{one.agent.session?.startsWith("bns-") ? <>in session <IdLink id={one.agent.session} />, without a task</> : "without a task"}</p>
      )}
    </div>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Machine and process, as far as they are known. */
function describePlace({ agent, process }: WorkingAgent): string {
  const where = agent.host || "a machine that is not known";
  if (agent.pid === null) return where;
  const state = agent.alive === null ? "cannot be seen from here" : agent.alive ? process || "alive" : "gone";
  return `${where}, process ${agent.pid} (${state})`;
}
