// How long the tool calls of agents took, and how many failed.
import type { JSX } from "preact";
import { formatDuration } from "../../parts/age";
import { ErrorNote, LoadingNote } from "../../parts/notes";
import { useRead } from "../../state/read";
import { BarName, ChartSection, CopiedTable } from "./chart_section";

/** Asked once for each range: the server reads transcripts for it. */
export function ToolsSection({ days }: { days: number }): JSX.Element {
  const { answer, error, reload } = useRead("tool_times", { days }, { on: [] });
  const longest = Math.max(...(answer?.tools ?? []).map((one) => one.median_seconds));
  return (
    <ChartSection title="Tools: time and errors" said="Calls of agents in runs, with the time for which they waited for a permission. The bar is the median; 95 of 100 calls are within the time of that name.">
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!answer && !error && <LoadingNote what="Reading transcripts" />}
      {answer?.tools.length === 0 && <p>No transcript of these days is on this machine.</p>}
      {answer && answer.tools.length > 0 && (
        <>
          <CopiedTable
            label="Tool calls by kind"
            rows={answer.tools}
            keyOf={(one) => one.kind}
            columns={[
              { title: "Kind", render: (one) => <BarName name={one.kind} value={one.median_seconds} longest={longest} /> },
              { title: "Calls", isNumber: true, render: (one) => one.calls },
              { title: "Failed", isNumber: true, render: (one) => (one.failed ? `${one.failed} (${formatShare(one.failed / one.calls)})` : 0) },
              { title: "Median", isNumber: true, render: (one) => formatDuration(one.median_seconds) },
              { title: "95 of 100", isNumber: true, render: (one) => formatDuration(one.slow_seconds) },
              { title: "Longest", isNumber: true, render: (one) => formatDuration(one.longest_seconds) },
            ]}
          />
          <p class="hint">
            From {answer.sessions} {answer.sessions === 1 ? "session" : "sessions"} on this machine{answer.is_complete ? "." : "; older ones were left out."}
          </p>
        </>
      )}
    </ChartSection>
  );
}

function formatShare(share: number): string {
  return `${share < 0.01 ? "under 1" : Math.round(share * 100)} %`;
}
