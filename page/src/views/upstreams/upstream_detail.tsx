// One server: its state, what waits for a person's approval, its tools, its log, and how it is configured.
import type { ComponentChildren, JSX } from "preact";
import type { UpstreamPage } from "../../api/types";
import { Age } from "../../parts/age";
import { CodeText } from "../../parts/code_text";
import { findContent } from "../../parts/dialog";
import { useKeptFocus } from "../../parts/kept_focus";
import { ErrorNote, LoadingNote } from "../../parts/notes";
import { Table } from "../../parts/table";
import { formatAddress } from "../../router";
import { usePolling } from "../../state/polling";
import { useRead } from "../../state/read";
import { ChangedTools, TrustPart } from "./approvals";
import { UpstreamActions } from "./upstream_actions";
import { Latency, StateBadge, StateSource, ToolCount } from "./upstream_state";
import { ProblemNote } from "./view";

const REFRESH_MS = 4_000;

export function UpstreamDetail({ name }: { name: string }): JSX.Element {
  const { answer, error, reload } = useRead("upstream", { name }, { on: ["trust", "discipline"] });
  useKeptFocus(findContent);
  usePolling(reload, REFRESH_MS, answer?.entry.state_from === "live" || (answer?.entry.is_testing ?? false));
  return (
    <>
      <p class="back-link">
        <a href={formatAddress({ view: "upstreams" })}>All upstream servers</a>
      </p>
      <header class="view-head">
        <h1>
          {name} {answer && <StateBadge entry={answer.entry} />}
        </h1>
        {answer && <UpstreamActions entry={answer.entry} onChange={reload} />}
      </header>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!answer && !error && <LoadingNote />}
      {answer && (
        <div class="upstream-parts">
          <StatePart page={answer} />
          {answer.trust && answer.trust.state !== "trusted" && <TrustPart trust={answer.trust} onChange={reload} />}
          {answer.changes.length > 0 && <ChangedTools page={answer} onChange={reload} />}
          {answer.tools.length > 0 && <ToolsPart page={answer} />}
          <LogPart page={answer} />
          <ConfigurationPart page={answer} />
        </div>
      )}
    </>
  );
}

function Part({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section class="card-box upstream-part">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function StatePart({ page: { entry } }: { page: UpstreamPage }): JSX.Element {
  return (
    <Part title={entry.standing}>
      {entry.reason && <CodeText text={entry.reason} maxLines={12} label="Why" />}
      {entry.hint && <p class="hint">On a terminal: <code>{entry.hint}</code></p>}
      <p class="hint upstream-facts">
        <StateSource entry={entry} />
        <ToolCount entry={entry} />
        <Latency entry={entry} />
        {entry.tokens !== null && <span>{entry.tokens} tokens for all its tools</span>}
        {entry.version && <span>MCP {entry.version}</span>}
        {entry.next_retry && <span>tried again <Age at={entry.next_retry} /></span>}
      </p>
      {entry.notes.length > 0 && (
        <ul class="plain-list">
          {entry.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      {entry.server.problems.map((problem) => (
        <ProblemNote key={problem.message} problem={problem} />
      ))}
    </Part>
  );
}

function ToolsPart({ page }: { page: UpstreamPage }): JSX.Element {
  return (
    <Part title={`${page.tools.length} tools`}>
      <Table
        label={`Tools of ${page.entry.server.name}`}
        rows={page.tools}
        keyOf={(tool) => tool.name}
        columns={[
          { title: "Tool", render: (tool) => <a href={formatAddress({ view: "tools", rest: [tool.name] })}>{tool.tool}</a> },
          { title: "What it does", render: (tool) => tool.description },
          { title: "Tokens", render: (tool) => tool.tokens, isNumber: true },
        ]}
      />
    </Part>
  );
}

function LogPart({ page }: { page: UpstreamPage }): JSX.Element {
  return (
    <Part title="What it wrote">
      {page.log.length > 0 && <CodeText text={page.log.join("\n")} maxLines={20} label="The last lines of its standard error" />}
      {page.log.length === 0 && (
        <p class="muted">{page.log_file ? "Nothing yet." : "It runs elsewhere, and what it writes is kept there."}</p>
      )}
      {page.log_file && <p class="hint">The last lines of {page.log_file}, without secrets.</p>}
    </Part>
  );
}

function ConfigurationPart({ page: { entry, trust } }: { page: UpstreamPage }): JSX.Element {
  const { server } = entry;
  const rows: readonly (readonly [string, ComponentChildren])[] = [
    ["Target", <code>{server.target}</code>],
    ["Transport", server.transport || "not known"],
    ["Configured in", server.source],
    ["Variables", server.env.join(", ")],
    ["Headers", server.headers.join(", ")],
    ["Login", server.auth === "none" ? "" : server.auth.replaceAll("_", " ")],
    ["Changed tools are", server.pin === "strict" ? "withheld until accepted" : server.pin === "warn" ? "offered, and noted" : "not looked for"],
    ["Connects", server.lazy ? "at the first use" : "when a session begins"],
    ["Approved", trust?.state === "trusted" ? <>by {trust.trusted_by} {trust.trusted_at && <Age at={trust.trusted_at} />} ago</> : ""],
  ];
  return (
    <Part title="Configuration">
      <dl class="upstream-config">
        {rows.filter(([, value]) => value !== "").map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Part>
  );
}
