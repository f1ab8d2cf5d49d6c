// The catalog: every tool, what it costs, and which recipe has it.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { CatalogTool, ToolsPage } from "../../api/types";
import { Badge } from "../../parts/badge";
import { ChoiceField, TextField } from "../../parts/form";
import { EmptyView, ErrorNote, LoadingNote } from "../../parts/notes";
import { Table } from "../../parts/table";
import { type Filters, formatAddress, setFilters, useAddress } from "../../router";
import { useRead } from "../../state/read";
import { EffectBadge, ToolDetail } from "./tool_detail";

export default function ToolsView(): JSX.Element {
  const name = useAddress().rest[0];
  return name ? <ToolDetail key={name} name={name} /> : <ToolList />;
}

function ToolList(): JSX.Element {
  const { filters } = useAddress();
  const { answer, error, reload } = useRead("tools", { discipline: filters.discipline ?? "" }, { on: ["discipline", "trust"] });
  return (
    <>
      <header class="view-head">
        <h1>Tools</h1>
      </header>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!answer && !error && <LoadingNote />}
      {answer && <Catalog page={answer} filters={filters} />}
    </>
  );
}

function Catalog({ page, filters }: { page: ToolsPage; filters: Filters }): JSX.Element {
  const recipe = page.recipes.find((one) => one.name === filters.recipe || one.aliases.includes(filters.recipe ?? ""));
  const shown = useMemo(() => chooseTools(page.tools, filters, recipe?.name ?? ""), [page, JSON.stringify(filters)]);
  const tokens = shown.reduce((sum, tool) => sum + tool.tokens, 0);
  return (
    <>
      <ToolFilters page={page} filters={filters} />
      <p class="tool-sum" role="status">
        {shown.length} tool{shown.length === 1 ? "" : "s"}, about {tokens.toLocaleString("en")} tokens when an agent sees all of them.
        {recipe?.description && <span class="muted"> {recipe.name}: {recipe.description}</span>}
      </p>
      {recipe?.has_upstreams && <p class="hint">It also gets the tools of upstream servers; those of tested servers are listed.</p>}
      {shown.length === 0 ? (
        <EmptyView title="No tool fits." />
      ) : (
        <Table
          label="Tools"
          rows={shown}
          keyOf={(tool) => tool.name}
          columns={[
            { title: "Tool", render: (tool) => <a class="tool-name" href={formatAddress({ view: "tools", rest: [tool.name], filters: keepDiscipline(filters) })}>{tool.name}</a> },
            { title: "What it does", render: (tool) => <span class="tool-summary">{tool.summary}</span> },
            { title: "Effect", render: (tool) => <EffectBadge isReading={tool.is_reading} isDestructive={tool.is_destructive} /> },
            { title: "Tokens", render: (tool) => tool.tokens, isNumber: true },
            { title: "Recipes", render: (tool) => <RecipeCount tool={tool} total={page.recipes.length} recipe={recipe?.name ?? ""} /> },
          ]}
        />
      )}
    </>
  );
}

function RecipeCount({ tool, total, recipe }: { tool: CatalogTool; total: number; recipe: string }): JSX.Element {
  if (recipe && tool.limited.includes(recipe)) return <Badge tone="warning" title="Only some of its parameters, or only some tasks.">within limits</Badge>;
  if (recipe) return tool.recipes.includes(recipe) ? <Badge tone="good">has it</Badge> : <Badge tone="quiet">lacks it</Badge>;
  return (
    <span title={tool.recipes.join(", ") || "none"}>
      {tool.recipes.length} of {total}
    </span>
  );
}

function ToolFilters({ page, filters }: { page: ToolsPage; filters: Filters }): JSX.Element {
  const categories = [...new Set(page.tools.map((tool) => tool.category))].sort();
  return (
    <search class="tool-filters" aria-label="Filters of the tools">
      <TextField label="Text" kind="search" value={filters.text ?? ""} onChange={(text) => setFilters({ text })} placeholder="words or a name" />
      <ChoiceField
        label="Recipe"
        value={filters.recipe ?? ""}
        onChange={(recipe) => setFilters({ recipe, show: "" })}
        choices={[["", "Any"], ...page.recipes.map((one) => [one.name, `${one.name} (${one.tools} tools, ${one.tokens} tokens)`] as const)]}
      />
      {filters.recipe && (
        <ChoiceField
          label="Show"
          value={filters.show ?? ""}
          onChange={(show) => setFilters({ show })}
          choices={[["", "What it has"], ["lacks", "What it lacks"], ["all", "Both"]]}
        />
      )}
      <ChoiceField label="Category" value={filters.category ?? ""} onChange={(category) => setFilters({ category })} choices={[["", "All"], ...categories]} />
      <ChoiceField label="Discipline" value={filters.discipline ?? ""} onChange={(discipline) => setFilters({ discipline })} choices={[["", "None"], ...page.disciplines]} />
      <ChoiceField label="Order" value={filters.order ?? ""} onChange={(order) => setFilters({ order })} choices={[["", "By category"], ["tokens", "Most tokens first"], ["name", "By name"]]} />
    </search>
  );
}

function chooseTools(tools: readonly CatalogTool[], filters: Filters, recipe: string): CatalogTool[] {
  const { text = "", show = "", category = "", order = "" } = filters;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (tool: CatalogTool) => {
    const written = `${tool.name} ${tool.title} ${tool.summary} ${tool.aliases.join(" ")}`.toLowerCase();
    const has = !recipe || show === "all" || tool.recipes.includes(recipe) === (show !== "lacks");
    return has && (!category || tool.category === category) && words.every((word) => written.includes(word));
  };
  const chosen = tools.filter(fits);
  if (order === "tokens") return chosen.sort((one, other) => other.tokens - one.tokens);
  if (order === "name") return chosen.sort((one, other) => one.name.localeCompare(other.name));
  return chosen.sort((one, other) => one.category.localeCompare(other.category));
}

function keepDiscipline(filters: Filters): Filters {
  return filters.discipline ? { discipline: filters.discipline } : {};
}
