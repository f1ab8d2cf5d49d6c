// What waits for what: a drawing to zoom into, or a list that says the same.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { GraphNode, GraphPage, GraphQuery } from "../../api/types";
import { statusWords } from "../../parts/badge";
import { CheckField, ChoiceField, TextField } from "../../parts/form";
import { EmptyView, ErrorNote, LoadingNote } from "../../parts/notes";
import { type Filters, setFilters, taskAddress, useAddress } from "../../router";
import { useCommands } from "../../state/commands";
import { useDeferredText } from "../../state/deferred_text";
import { useRead } from "../../state/read";
import { GraphCanvas } from "./graph_canvas";
import { layoutGraph } from "./graph_layout";
import { TaskTree } from "./task_tree";

const STATUSES = ["draft", "pending", "in_progress", "in_review", "partial", "blocked", "needs_input", "done", "cancelled"] as const;
const MOST_BLOCKING = 5;

export default function GraphView(): JSX.Element {
  const { filters } = useAddress();
  const root = useDeferredText(filters.root ?? "");
  const query = useMemo(() => makeQuery({ ...filters, root }), [JSON.stringify(filters), root]);
  const { answer, error, reload } = useRead("graph", query, { on: ["task", "feature"] });
  const isList = filters.as === "list";
  useCommands([
    { title: isList ? "Show the graph as a drawing" : "Show the graph as a list", group: "Graph", keys: "v", run: () => setFilters({ as: isList ? "" : "list" }) },
  ]);
  return (
    <div class="graph-view">
      <header class="view-head">
        <h1>Graph</h1>
        <div class="button-row" role="group" aria-label="How it is shown">
          <button type="button" class="button" aria-pressed={!isList} onClick={() => setFilters({ as: "" })}>
            Drawing
          </button>
          <button type="button" class="button" aria-pressed={isList} onClick={() => setFilters({ as: "list" })}>
            List
          </button>
        </div>
      </header>
      <GraphFilters filters={filters} features={answer?.features ?? []} />
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!answer && !error && <LoadingNote />}
      {answer && <GraphContent page={answer} filters={filters} isList={isList} part={JSON.stringify(query)} />}
    </div>
  );
}

function GraphContent({ page, filters, isList, part }: { page: GraphPage; filters: Filters; isList: boolean; part: string }): JSX.Element {
  const layout = useMemo(() => layoutGraph(page), [page]);
  if (page.nodes.length === 0) {
    return (
      <EmptyView title={filters.alone ? "No task fits." : "No task waits for another."}>
        {!filters.alone && (
          <button type="button" class="button" onClick={() => setFilters({ alone: "yes" })}>
            Show tasks that stand alone
          </button>
        )}
      </EmptyView>
    );
  }
  return (
    <>
      <GraphSummary page={page} />
      {isList ? <TaskTree page={page} /> : <GraphCanvas layout={layout} part={part} root={filters.root ?? ""} />}
    </>
  );
}

/** In words: what can begin now, and what holds up most. */
function GraphSummary({ page }: { page: GraphPage }): JSX.Element {
  const ready = page.nodes.filter((node) => node.is_ready);
  const blocking = page.nodes.filter((node) => node.blocks > 0).sort((one, other) => other.blocks - one.blocks);
  return (
    <div class="graph-summary">
      <p>
        {page.nodes.length} task{page.nodes.length === 1 ? "" : "s"}, <strong>{ready.length} ready</strong>
        {page.cut && ". There are more; choose a feature or a task to see them"}.
      </p>
      {blocking.length > 0 && (
        <p>
          <span class="muted">Blocks most:</span>{" "}
          {blocking.slice(0, MOST_BLOCKING).map((node, at) => (
            <span key={node.id}>
              {at > 0 && ", "}
              <BlockingLink node={node} />
            </span>
          ))}
        </p>
      )}
    </div>
  );
}

function BlockingLink({ node }: { node: GraphNode }): JSX.Element {
  return (
    <>
      <a href={taskAddress(node.id)}>{node.title}</a> <span class="muted">({node.blocks})</span>
    </>
  );
}

function GraphFilters({ filters, features }: { filters: Filters; features: readonly string[] }): JSX.Element {
  const { feature = "", status = "", root = "", closed = "", alone = "" } = filters;
  return (
    <search class="graph-filters" aria-label="Filters of the graph">
      <ChoiceField label="Feature" value={feature} onChange={(value) => setFilters({ feature: value })} choices={[["", "All"], ...new Set(feature ? [feature, ...features] : features)]} />
      <ChoiceField
        label="Status"
        value={status}
        onChange={(value) => setFilters({ status: value })}
        choices={[["", "Open"], ...STATUSES.map((name) => [name, statusWords(name)] as const)]}
      />
      <TextField label="Around the task" kind="search" value={root} onChange={(value) => setFilters({ root: value.trim() })} placeholder="bn-1f3a" />
      <CheckField label="Closed tasks, too" isChecked={closed !== ""} onChange={(value) => setFilters({ closed: value ? "yes" : "" })} />
      <CheckField label="Tasks that stand alone, too" isChecked={alone !== ""} onChange={(value) => setFilters({ alone: value ? "yes" : "" })} />
    </search>
  );
}

function makeQuery({ feature = "", status = "", root = "", closed = "", alone = "" }: Filters): GraphQuery {
  const known = STATUSES.filter((one) => one === status);
  return { feature, status: known, root, closed: closed !== "", alone: alone !== "" };
}
