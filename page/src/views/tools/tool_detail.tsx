// One tool: what it does, costs and takes, which recipe has it and why another lacks it, and a form to call it.
import type { JSX } from "preact";
import type { ToolPage } from "../../api/types";
import { Badge } from "../../parts/badge";
import { CodeText } from "../../parts/code_text";
import { ErrorNote, LoadingNote } from "../../parts/notes";
import { Table } from "../../parts/table";
import { formatAddress, useAddress } from "../../router";
import { useIsReadonly } from "../../state/projects";
import { useRead } from "../../state/read";
import { CallForm } from "./call_form";

export function ToolDetail({ name }: { name: string }): JSX.Element {
  const { filters } = useAddress();
  const { answer, error, reload } = useRead("tool", { name, discipline: filters.discipline ?? "" }, { on: ["discipline", "trust"] });
  return (
    <>
      <p class="back-link">
        <a href={formatAddress({ view: "tools", filters })}>All tools</a>
      </p>
      <header class="view-head">
        <h1>{name}</h1>
      </header>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {error && answer === undefined && (
        <p class="hint">
          The tools of an upstream server are known once it was tested: <a href={formatAddress({ view: "upstreams" })}>Upstreams</a>.
        </p>
      )}
      {!answer && !error && <LoadingNote />}
      {answer && <ToolParts page={answer} />}
    </>
  );
}

function ToolParts({ page }: { page: ToolPage }): JSX.Element {
  const { tool } = page;
  const isReadonly = useIsReadonly();
  return (
    <div class="tool-parts">
      <section class="card-box tool-part">
        <h2>{tool.title}</h2>
        <p class="button-row">
          <EffectBadge isReading={tool.is_reading} isDestructive={tool.is_destructive} />
          <Badge tone="quiet">{tool.tokens} tokens</Badge>
          <Badge tone="quiet">{tool.category}</Badge>
          {page.is_idempotent && !tool.is_reading && <Badge tone="quiet" title="Calling it twice does the same as once.">may be repeated</Badge>}
          {page.timeout !== null && <Badge tone="quiet">at most {page.timeout} s</Badge>}
          {tool.server && <a href={formatAddress({ view: "upstreams", rest: [tool.server] })}>of {tool.server}</a>}
        </p>
        <p class="tool-description">{[page.description, page.when_to_use].filter(Boolean).join("\n\n")}</p>
        {tool.aliases.length > 0 && <p class="hint">Also called {tool.aliases.join(", ")}.</p>}
        {page.prerequisites.length > 0 && <p class="hint">Before it, call {page.prerequisites.join(", ")}.</p>}
      </section>
      {tool.can_call && !isReadonly && <CallForm page={page} />}
      {!tool.can_call && <p class="muted">It belongs to the session of an agent, so a person cannot call it.</p>}
      {tool.can_call && isReadonly && <p class="muted">This page is only for reading, so it calls nothing.</p>}
      <section class="card-box tool-part">
        <h2>Recipes</h2>
        <Table
          label={`Recipes and whether they have ${tool.name}`}
          rows={page.recipes}
          keyOf={(row) => row.recipe}
          columns={[
            { title: "Recipe", render: (row) => <a href={formatAddress({ view: "tools", filters: { recipe: row.recipe } })}>{row.recipe}</a> },
            { title: "Has it", render: (row) => (row.enabled ? <Badge tone="good">yes</Badge> : <Badge tone="quiet">no</Badge>) },
            { title: "Why", render: (row) => row.why },
          ]}
        />
      </section>
      <Schemas page={page} />
    </div>
  );
}

function Schemas({ page }: { page: ToolPage }): JSX.Element {
  return (
    <section class="card-box tool-part">
      <h2>Schemas</h2>
      <details>
        <summary>What it takes</summary>
        <CodeText text={page.schema} label="What it takes" maxLines={60} />
      </details>
      {page.output_schema && (
        <details>
          <summary>What its data looks like</summary>
          <CodeText text={page.output_schema} label="What its data looks like" maxLines={60} />
        </details>
      )}
      {page.aliases.map((alias) => (
        <details key={alias.name}>
          <summary>As {alias.name}</summary>
          <CodeText text={alias.schema} label={`What it takes as ${alias.name}`} maxLines={60} />
        </details>
      ))}
      {page.failures.length > 0 && (
        <Table
          label="Errors that it may answer with"
          rows={page.failures}
          keyOf={(row) => row.code}
          columns={[
            { title: "Error", render: (row) => <code>{row.code}</code> },
            { title: "When", render: (row) => row.when },
          ]}
        />
      )}
    </section>
  );
}

export function EffectBadge({ isReading, isDestructive }: { isReading: boolean; isDestructive: boolean }): JSX.Element {
  if (isReading) return <Badge tone="good">reads</Badge>;
  return isDestructive ? <Badge tone="bad">removes or replaces</Badge> : <Badge tone="info">changes</Badge>;
}
