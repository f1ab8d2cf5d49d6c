// What the agent of one worker says and does: live while it works, and at its end while nobody scrolls up.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { RunDetails, RunWorker } from "../../api/types";
import { EmptyView, ErrorNote, LoadingNote } from "../../parts/notes";
import { WindowedList } from "../../parts/windowed_list";
import { useAddress } from "../../router";
import { useLiveTranscript } from "./live_transcript";
import { StepView } from "./step_views";
import { makeSteps } from "./transcript_steps";

export interface TranscriptPanelProps {
  details: RunDetails;
  worker: RunWorker;
  /** Whether this machine has its transcript. */
  isHere: boolean;
}

export function TranscriptPanel({ details, worker, isHere }: TranscriptPanelProps): JSX.Element {
  const { project } = useAddress();
  const live = useLiveTranscript(project, isHere ? worker.session : "", worker.is_driven);
  const steps = useMemo(() => makeSteps(live.entries), [live.entries]);
  const titles = useMemo(() => titlesOf(details, worker.session), [details, worker.session]);
  const isLive = worker.is_driven && worker.stage !== "resting";
  if (!isHere) {
    return (
      <EmptyView title={`The transcript is on ${worker.place || "another machine"}.`}>
        <p>Transcripts stay on the machine of the agent. What it did is in the attempts and events here; open the page there to read what it said.</p>
      </EmptyView>
    );
  }
  if (live.error && !live.isLoaded) return <ErrorNote error={live.error} />;
  if (!live.isLoaded) return <LoadingNote what="Loading the transcript" />;
  if (!steps.length) return <EmptyView title="Nothing was said yet.">The agent is being started.</EmptyView>;
  const earlier = live.hasEarlier && (
    <div class="earlier">
      <button type="button" class="button" onClick={live.loadEarlier}>
        Show what was before
      </button>
    </div>
  );
  return (
    <WindowedList
      key={worker.session}
      class="transcript"
      label={`What the agent of worker ${worker.number} says and does`}
      count={steps.length}
      keyOf={(index) => String(steps[index]?.key)}
      rowHeight={72}
      followsEnd
      header={earlier}
      renderRow={(index) => {
        const step = steps[index];
        return step && (
          <StepView
            step={step}
            session={worker.session}
            title={titles.get(step.iteration) ?? ""}
            isLive={isLive && step.iteration === steps.at(-1)?.iteration}
            isNewest={isLive && index === steps.length - 1}
          />
        );
      }}
    />
  );
}

/** The titles of the tasks of a session's iterations, by number. */
export function titlesOf(details: RunDetails, session: string): Map<number, string> {
  const ours = details.attempts.filter((one) => one.iteration.session === session);
  return new Map(ours.map((one) => [one.iteration.number, one.title || one.iteration.task_started || ""]));
}
