// What the agents of runs cost: by day, agent, model and recipe.
import type { JSX } from "preact";
import type { ChartsPage, SpendingLine } from "../../api/types";
import { formatDuration } from "../../parts/age";
import { formatCost } from "../../parts/cost";
import { BarName, ChartSection, CopiedTable } from "./chart_section";
import { DayChart } from "./day_chart";

export function CostSection({ page }: { page: ChartsPage }): JSX.Element {
  const { total } = page;
  const [currency = "", most = 0] = Object.entries(total.cost ?? {}).sort((one, other) => other[1] - one[1])[0] ?? [];
  const days = page.days.map((one) => one.day);
  const byDay = new Map(page.by_day.map((line) => [line.key, line]));
  const weigh = (line: SpendingLine) => (most > 0 ? (line.cost?.[currency] ?? 0) : line.seconds);
  if (total.iterations === 0) {
    return (
      <ChartSection title="Cost">
        <p>No run worked in these days.</p>
      </ChartSection>
    );
  }
  return (
    <ChartSection title="Cost" isWide said={<>{costOf(total)}, {formatDuration(total.seconds)} of agents in {total.iterations} iterations.</>}>
      {most > 0 && (
        <DayChart
          isFraction
          label={`Cost in ${currency}`}
          days={days}
          series={[{ title: currency, look: "spent", values: days.map((day) => byDay.get(day)?.cost?.[currency] ?? 0) }]}
          format={(value) => (value === 0 || value >= 0.01 ? value.toFixed(2) : value.toPrecision(2))}
        />
      )}
      <details>
        <summary>Table</summary>
        <CostTable by="Day" lines={[...page.by_day].reverse()} weigh={weigh} />
      </details>
      <div class="charts">
        <CostTable by="Agent" lines={page.by_agent} weigh={weigh} />
        <CostTable by="Model" lines={page.by_model} weigh={weigh} />
        <CostTable by="Recipe" lines={page.by_recipe} weigh={weigh} />
      </div>
    </ChartSection>
  );
}

interface CostTableProps {
  by: string;
  lines: readonly SpendingLine[];
  weigh: (line: SpendingLine) => number;
}

function CostTable({ by, lines, weigh }: CostTableProps): JSX.Element {
  const longest = Math.max(...lines.map(weigh));
  return (
    <CopiedTable
      label={`Cost by ${by.toLowerCase()}`}
      rows={lines}
      keyOf={(line) => line.key}
      columns={[
        { title: by, render: (line) => <BarName name={line.key} value={weigh(line)} longest={longest} /> },
        { title: "Iterations", isNumber: true, render: (line) => line.iterations },
        { title: "Time", isNumber: true, render: (line) => formatDuration(line.seconds) },
        { title: "Tokens", isNumber: true, render: (line) => line.tokens?.toLocaleString() ?? "not reported" },
        { title: "Cost", isNumber: true, render: costOf },
      ]}
    />
  );
}

/** The cost, and of how many iterations it is if not of all. */
function costOf({ cost = {}, iterations, iterations_with_cost: reported = 0 }: SpendingLine): JSX.Element {
  if (reported === 0) return <span class="muted">cost not reported</span>;
  return (
    <>
      {formatCost(cost)}
      {reported < iterations && <small class="muted"> reported for {reported} of {iterations} iterations</small>}
    </>
  );
}
