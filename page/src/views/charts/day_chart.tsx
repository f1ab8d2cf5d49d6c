// Columns over days. A day is chosen by pointing or by arrow keys, and its numbers are said above the columns.
import type { JSX } from "preact";
import { useState } from "preact/hooks";

export interface DaySeries {
  title: string;
  /** How it is drawn: its class. A line is what there is, the others are what was done. */
  look: "good" | "said" | "spent" | "line";
  /** One for each day. */
  values: readonly number[];
}

export interface DayChartProps {
  label: string;
  /** Days as the server writes them, in UTC. */
  days: readonly string[];
  /** Drawn on top of each other, the first below. */
  series: readonly DaySeries[];
  format?: (value: number) => string;
  /** The values are not whole numbers. */
  isFraction?: boolean;
}

/** A class and its path. */
type DrawnPath = readonly [string, string];

const MAX_LINES = 4;
/** What the drawing counts as its height; it is stretched to the room there is. */
const HEIGHT = 100;

/** The columns; nothing if there is no number but 0. */
export function DayChart({ label, days, series, format = String, isFraction = false }: DayChartProps): JSX.Element | null {
  const last = days.length - 1;
  const [wanted, setChosen] = useState(last);
  const chosen = Math.min(wanted, last);
  const heights = days.map((_, at) => series.reduce((sum, one) => sum + (one.values[at] ?? 0), 0));
  const highest = Math.max(...heights);
  if (highest === 0) return null;
  const lines = chooseLines(highest, isFraction);
  const top = lines[0] ?? 1;
  const dayWords = formatDay(days[chosen] ?? "");
  const said = series.map((one) => [one, `${format(one.values[chosen] ?? 0)} ${one.title}`] as const);
  const move = (event: KeyboardEvent) => {
    const next = moveBy(event.key, chosen, last);
    if (next === undefined) return;
    event.preventDefault();
    setChosen(Math.max(0, Math.min(last, next)));
  };
  const point = (event: PointerEvent) => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    setChosen(Math.max(0, Math.min(last, Math.floor(((event.clientX - left) / width) * days.length))));
  };
  return (
    <div class="day-chart">
      <p class="chart-said" aria-hidden="true">
        <b>{dayWords}</b>
        {said.map(([one, words]) => (
          <span>
            <i class={`swatch ${one.look}`} /> {words}
          </span>
        ))}
      </p>
      <div class="day-lines number" aria-hidden="true">
        {lines.map((value) => (
          <span>{format(value)}</span>
        ))}
      </div>
      <div
        class="day-plot"
        role="slider"
        tabIndex={0}
        aria-label={`${label}: day`}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={chosen}
        aria-valuetext={`${dayWords}: ${said.map(([, words]) => words).join(", ")}`}
        onKeyDown={move}
        onPointerMove={point}
        onPointerDown={point}
      >
        <svg aria-hidden="true" viewBox={`0 0 ${days.length} ${HEIGHT}`} preserveAspectRatio="none">
          <path class="chosen" d={`M${chosen} 0h1v${HEIGHT}h-1z`} />
          <path class="grid" d={lines.map((value) => `M0 ${heightOf(top - value, top)}h${days.length}`).join("")} />
          {drawSeries(series, top).map(([look, path]) => (
            <path class={look} d={path} />
          ))}
        </svg>
      </div>
      <div class="day-ends" aria-hidden="true">
        <span>{formatDay(days[0] ?? "")}</span>
        <span>{formatDay(days[last] ?? "")}</span>
      </div>
    </div>
  );
}

/** The paths of each series with their classes: a column for each day, or one line with the space below it. */
function drawSeries(series: readonly DaySeries[], top: number): DrawnPath[] {
  const bottoms: number[] = [];
  return series.flatMap(({ look, values }): DrawnPath[] => {
    const ys = values.map((value, at) => HEIGHT - heightOf((bottoms[at] = (bottoms[at] ?? 0) + value), top));
    if (look === "line") {
      const line = ys.map((y, at) => `V${y}H${at + 1}`).join("");
      return [["area", `M0 ${HEIGHT}${line}V${HEIGHT}z`], ["line", `M0 ${ys[0]}${line}`]];
    }
    const columns = values.map((value, at) => (value > 0 ? `M${at + 0.1} ${ys[at]}h.8v${heightOf(value, top)}h-.8z` : ""));
    return [[look, columns.join("")]];
  });
}

const heightOf = (value: number, top: number): number => +((HEIGHT * value) / top).toFixed(2);

/** The values of the horizontal lines, from the top down to 0: round numbers, the first not below the highest value. */
function chooseLines(highest: number, isFraction: boolean): number[] {
  const rough = isFraction ? highest / MAX_LINES : Math.max(1, highest / MAX_LINES);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((one) => one * power >= rough) ?? 10);
  const count = Math.ceil(highest / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, at) => +((count - at) * step).toPrecision(6));
}

function moveBy(key: string, from: number, last: number): number | undefined {
  const steps: Record<string, number> = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -7, PageUp: 7, Home: -last, End: last };
  const step = steps[key];
  return step === undefined ? undefined : from + step;
}

/** `Thu, Nov 19` in the words of the browser, with the year if it is another one. */
function formatDay(day: string): string {
  const date = new Date(`${day}T00:00Z`);
  const isThisYear = date.getUTCFullYear() === new Date().getUTCFullYear();
  const rest = isThisYear ? ({ weekday: "short" } as const) : ({ year: "numeric" } as const);
  return date.toLocaleDateString(undefined, { day: "numeric", month: "short", timeZone: "UTC", ...rest });
}
