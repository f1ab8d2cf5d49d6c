// How the work goes: what was done and proven, what is open, and where tasks wait.
import type { JSX } from "preact";
import type { TimeInStatus, WorkDay } from "../../api/types";
import { formatDuration } from "../../parts/age";
import { statusWords } from "../../parts/badge";
import type { TableColumn } from "../../parts/table";
import { BarName, ChartSection, CopiedTable, FoldedTable } from "./chart_section";
import { DayChart } from "./day_chart";

export function DoneSection({ days }: { days: readonly WorkDay[] }): JSX.Element {
  const [done, proven] = [sumOf(days, "done"), sumOf(days, "proven")];
  const onlySaid = days.map((one) => one.done - one.proven);
  return (
    <ChartSection title="Done and proven a day" said={`${done} done, ${proven} of them proven. Days are in UTC.`}>
      <DayChart
        label="Done and proven"
        days={days.map((one) => one.day)}
        series={[
          { title: "proven", look: "good", values: days.map((one) => one.proven) },
          { title: "only said", look: "said", values: onlySaid },
        ]}
      />
      <DayTable label="Done and proven a day" days={days} names={["done", "proven", "cancelled"]} />
    </ChartSection>
  );
}

export function OpenSection({ days }: { days: readonly WorkDay[] }): JSX.Element {
  return (
    <ChartSection title="Burn-down" said={describePace(days)}>
      <DayChart
        label="Open tasks"
        days={days.map((one) => one.day)}
        series={[{ title: "open at its end", look: "line", values: days.map((one) => one.open) }]}
      />
      <DayTable label="Open tasks at the end of each day" days={days} names={["added", "done", "cancelled", "open"]} />
    </ChartSection>
  );
}

type DayNumber = Exclude<keyof WorkDay, "day">;

function DayTable({ label, days, names }: { label: string; days: readonly WorkDay[]; names: readonly DayNumber[] }): JSX.Element {
  const columns: TableColumn<WorkDay>[] = [
    { title: "Day", render: (one) => one.day },
    ...names.map((name) => ({ title: statusWords(name), isNumber: true, render: (one: WorkDay) => one[name] })),
  ];
  return <FoldedTable label={label} rows={[...days].reverse()} keyOf={(one) => one.day} columns={columns} />;
}

function describePace(days: readonly WorkDay[]): string {
  const open = days.at(-1)?.open ?? 0;
  const closed = sumOf(days, "done") + sumOf(days, "cancelled");
  const added = sumOf(days, "added");
  const said = `${open} open; ${added} were added and ${closed} closed.`;
  const left = Math.ceil((open * days.length) / (closed - added));
  return open > 0 && closed > added ? `${said} At this pace none is open in ${left} ${left === 1 ? "day" : "days"}.` : said;
}

function sumOf(days: readonly WorkDay[], name: DayNumber): number {
  return days.reduce((sum, one) => sum + one[name], 0);
}

export function StatusSection({ times }: { times: TimeInStatus }): JSX.Element {
  const longest = Math.max(...times.statuses.map((one) => one.median_seconds));
  return (
    <ChartSection title="Time in status" said="How long tasks stayed in a status that they entered in these days. The bar is the median.">
      {times.statuses.length === 0 ? (
        <p>No task changed its status in these days.</p>
      ) : (
        <CopiedTable
          label="Time in status"
          rows={times.statuses}
          keyOf={(one) => one.status}
          columns={[
            { title: "Status", render: (one) => <BarName name={statusWords(one.status)} value={one.median_seconds} longest={longest} /> },
            { title: "Stays", isNumber: true, render: (one) => one.times },
            { title: "Median", isNumber: true, render: (one) => formatDuration(one.median_seconds) },
            { title: "Longest", isNumber: true, render: (one) => formatDuration(one.longest_seconds) },
            { title: "All together", isNumber: true, render: (one) => formatDuration(one.seconds) },
          ]}
        />
      )}
      {!times.is_complete && times.since && <p class="hint">Only what happened since {new Date(times.since).toLocaleString()} is counted.</p>}
    </ChartSection>
  );
}
