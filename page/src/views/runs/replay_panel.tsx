// A transcript step by step: forward, back, played at a speed, or from a task or a merge on.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { api, ApiError } from "../../api/client";
import type { PlacedEntry, RunDetails, RunWorker } from "../../api/types";
import { ChoiceField } from "../../parts/form";
import { EmptyView, ErrorNote, LoadingNote } from "../../parts/notes";
import { WindowedList } from "../../parts/windowed_list";
import { useAddress } from "../../router";
import { useCommands } from "../../state/commands";
import { StepView } from "./step_views";
import { titlesOf } from "./transcript_panel";
import { makeSteps, type TranscriptStep } from "./transcript_steps";

const SPEEDS = ["1", "4", "16", "64"];
const MAX_WINDOWS = 40;
const MIN_WAIT_MS = 40;
const MAX_WAIT_MS = 2_000;

export interface ReplayPanelProps {
  details: RunDetails;
  worker: RunWorker;
  isHere: boolean;
}

export function ReplayPanel({ details, worker, isHere }: ReplayPanelProps): JSX.Element {
  const { project, filters } = useAddress();
  const { entries, isComplete, error } = useWholeTranscript(project, isHere ? worker.session : "");
  const steps = useMemo(() => makeSteps(entries), [entries]);
  if (!isHere) return <EmptyView title={`The transcript is on ${worker.place || "another machine"}.`} />;
  if (error) return <ErrorNote error={error} />;
  if (!steps.length) return isComplete ? <EmptyView title="Nothing was recorded." /> : <LoadingNote what="Loading the transcript" />;
  return <Player steps={steps} isComplete={isComplete} details={details} worker={worker} first={Number(filters.at ?? "-1")} />;
}

interface WholeTranscript {
  entries: readonly PlacedEntry[];
  isComplete: boolean;
  error: ApiError | null;
}

/** All entries, window by window; of a very long transcript the first ones. */
function useWholeTranscript(project: string, session: string): WholeTranscript {
  const [found, setFound] = useState<WholeTranscript>({ entries: [], isComplete: false, error: null });
  useEffect(() => {
    const stop = new AbortController();
    async function load(): Promise<void> {
      let entries: PlacedEntry[] = [];
      let start = 0;
      for (let count = 0; count < MAX_WINDOWS; count++) {
        const window = await api.read(project, "transcript", { session, start }, stop.signal);
        if (window.end === start) break;
        entries = [...entries, ...window.entries];
        start = window.end;
        setFound({ entries, isComplete: false, error: null });
      }
      setFound({ entries, isComplete: true, error: null });
    }
    if (session) load().catch((problem: unknown) => problem instanceof ApiError && setFound((one) => ({ ...one, error: problem })));
    return () => stop.abort();
  }, [project, session]);
  return found;
}

interface PlayerProps {
  steps: readonly TranscriptStep[];
  isComplete: boolean;
  details: RunDetails;
  worker: RunWorker;
  /** The iteration to begin with. */
  first: number;
}

function Player({ steps, isComplete, details, worker, first }: PlayerProps): JSX.Element {
  const titles = useMemo(() => titlesOf(details, worker.session), [details, worker.session]);
  const [position, setPosition] = useState(0);
  const [isPlaying, setPlaying] = useState(false);
  const [speed, setSpeed] = useState("4");
  const last = steps.length - 1;
  const go = (to: number) => setPosition(Math.max(0, Math.min(last, to)));
  const begins = useMemo(() => steps.flatMap((one, index) => (one.kind === "iteration" ? [index] : [])), [steps]);
  const goToIteration = (number: number) => {
    const found = steps.findIndex((one) => one.iteration === number);
    if (found >= 0) go(found);
  };
  useEffect(() => {
    if (first >= 0) goToIteration(first);
  }, [first, isComplete]);
  useEffect(() => {
    if (!isPlaying) return undefined;
    const [now, next] = [steps[position], steps[position + 1]];
    if (!now || !next) {
      if (isComplete) setPlaying(false);
      return undefined;
    }
    const wait = (Date.parse(next.at) - Date.parse(now.at)) / Number(speed);
    const timer = setTimeout(() => go(position + 1), Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, wait || 0)));
    return () => clearTimeout(timer);
  }, [isPlaying, position, speed, steps, isComplete]);

  const step = steps[position];
  const nextBegin = begins.find((index) => index > position) ?? last;
  const previousBegin = begins.findLast((index) => index < position) ?? 0;
  const toggle = () => {
    if (!isPlaying && position === last) go(0);
    setPlaying(!isPlaying);
  };
  useCommands([
    { title: isPlaying ? "Stop playing" : "Play", group: "Replay", keys: " ", run: toggle },
    { title: "One step forward", group: "Replay", keys: ".", run: () => go(position + 1) },
    { title: "One step back", group: "Replay", keys: ",", run: () => go(position - 1) },
    { title: "Next iteration", group: "Replay", keys: "]", run: () => go(nextBegin) },
    { title: "Previous iteration", group: "Replay", keys: "[", run: () => go(previousBegin) },
  ]);
  return (
    <div class="replay">
      <div class="replay-bar" role="group" aria-label="Replay">
        <div class="button-row">
          <button type="button" class="button" aria-label="Previous iteration" title="Previous iteration ([)" onClick={() => go(previousBegin)}>
            |◀
          </button>
          <button type="button" class="button" aria-label="One step back" title="One step back (,)" disabled={position === 0} onClick={() => go(position - 1)}>
            ◀
          </button>
          <button type="button" class="button primary" title="Space" aria-pressed={isPlaying} onClick={toggle}>
            {isPlaying ? "Pause" : "Play"}
          </button>
          <button type="button" class="button" aria-label="One step forward" title="One step forward (.)" disabled={position === last} onClick={() => go(position + 1)}>
            ▶
          </button>
          <button type="button" class="button" aria-label="Next iteration" title="Next iteration (])" onClick={() => go(nextBegin)}>
            ▶|
          </button>
          <ChoiceField label="Speed" isLabelHidden value={speed} onChange={setSpeed} choices={SPEEDS.map((one) => [one, `${one}×`] as const)} />
          <JumpField details={details} worker={worker} steps={steps} current={step?.iteration ?? 0} titles={titles} onGo={go} />
        </div>
        <input
          type="range"
          class="replay-axis"
          aria-label="Time"
          min={0}
          max={last}
          value={position}
          aria-valuetext={step ? `step ${position + 1} of ${steps.length}, ${new Date(step.at).toLocaleString()}` : ""}
          onInput={(event) => go(Number(event.currentTarget.value))}
        />
        <p class="replay-place muted">
          {step && new Date(step.at).toLocaleString()} · step {position + 1} of {steps.length}
          {!isComplete && " so far"}
        </p>
      </div>
      <WindowedList
        class="transcript"
        label="The transcript up to here"
        count={position + 1}
        keyOf={(index) => String(steps[index]?.key)}
        rowHeight={72}
        scrollTo={position}
        followsEnd
        renderRow={(index) => {
          const shown = steps[index];
          return shown && <StepView step={shown} session={worker.session} title={titles.get(shown.iteration) ?? ""} isLive={false} isNewest={false} />;
        }}
      />
    </div>
  );
}

interface JumpFieldProps {
  details: RunDetails;
  worker: RunWorker;
  steps: readonly TranscriptStep[];
  current: number;
  titles: ReadonlyMap<number, string>;
  onGo: (position: number) => void;
}

/** The tasks of the worker, and where the change of each was merged. */
function JumpField({ details, worker, steps, current, titles, onGo }: JumpFieldProps): JSX.Element {
  const ours = details.attempts.filter((one) => one.iteration.session === worker.session).toReversed();
  const choices = ours.flatMap(({ iteration }) => {
    const begin = [`begin ${iteration.number}`, `${iteration.number || "Planning"} ${titles.get(iteration.number) ?? ""}`.trim()] as const;
    const end = [`end ${iteration.number}`, `— ${iteration.outcome} ${iteration.commit_id?.slice(0, 8) ?? ""}`.trim()] as const;
    return iteration.outcome ? [begin, end] : [begin];
  });
  const jump = (value: string) => {
    const [where, number] = value.split(" ");
    const isOurs = (one: TranscriptStep) => one.iteration === Number(number);
    const found = where === "end" ? steps.findLastIndex(isOurs) : steps.findIndex(isOurs);
    if (found >= 0) onGo(found);
  };
  return <ChoiceField label="Jump to" isLabelHidden value={`begin ${current}`} onChange={jump} choices={choices} />;
}
