// The charts: how the work of the last days went, in numbers. Each has a table. How far back is in the address.
import type { JSX } from "preact";
import { ChoiceField } from "../../parts/form";
import { ErrorNote, LoadingNote } from "../../parts/notes";
import { setFilters, useAddress } from "../../router";
import { useCommands } from "../../state/commands";
import { useRead } from "../../state/read";
import { CostSection } from "./cost_section";
import { ToolsSection } from "./tools_section";
import { DoneSection, OpenSection, StatusSection } from "./work_sections";

const DEFAULT_DAYS = 30;
const MAX_DAYS = 366;
const OFFERED = [7, DEFAULT_DAYS, 90, 365];

export default function ChartsView(): JSX.Element {
  const days = parseDays(useAddress().filters.days ?? "");
  const { answer, error, reload } = useRead("charts", { days }, { on: ["task", "session", "run"] });
  const choices = [...new Set([...OFFERED, days])].sort((one, other) => one - other);
  const show = (value: string) => setFilters({ days: value === String(DEFAULT_DAYS) ? "" : value });
  const offered = choices.map((one) => [String(one), one === 1 ? "Today" : `Last ${one} days`] as const);
  useCommands(offered.map(([value, title]) => ({ title, group: "Charts", run: () => show(value) })));
  return (
    <>
      <header class="view-head">
        <h1>Charts</h1>
        <ChoiceField
          label="How far back"
          isLabelHidden
          value={String(days)}
          onChange={show}
          choices={offered}
        />
      </header>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!answer && !error && <LoadingNote />}
      {answer && (
        <div class="charts">
          <DoneSection days={answer.days} />
          <OpenSection days={answer.days} />
          <StatusSection times={answer.statuses} />
          <ToolsSection days={days} />
          <CostSection page={answer} />
        </div>
      )}
    </>
  );
}

/** The days of the address, if the server takes so many. */
function parseDays(text: string): number {
  const days = Number(text);
  return Number.isInteger(days) && days >= 1 && days <= MAX_DAYS ? days : DEFAULT_DAYS;
}
