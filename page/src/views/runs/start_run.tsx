// Starts a run from a specification or chosen tasks, or resumes one. The exact command is shown before it runs.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { RunChoices, RunOrder, RunStartPreview, StartedRun } from "../../api/types";
import { ErrorNote, LoadingNote } from "../../parts/notes";
import { CheckField, ChoiceField, Form, TextField } from "../../parts/form";
import { formatAddress, useAddress } from "../../router";
import { useAction } from "../../state/action";
import { useRead } from "../../state/read";
import { ConfirmStart } from "./confirm_start";
import { StartingRun } from "./starting_run";
import { TaskPicker } from "./task_picker";

type Source = "tasks" | "text" | "file" | "open";

/** What is in the fields, as text. */
interface Draft {
  source: Source;
  name: string;
  text: string;
  file: string;
  tasks: readonly string[];
  feature: string;
  agent: string;
  model: string;
  workers: string;
  approve: "ask" | "edits" | "all" | "none";
  worktree: boolean;
  iterations: string;
  minutes: string;
  tokens: string;
  cost: string;
}

const EMPTY: Draft = {
  source: "open", name: "", text: "", file: "", tasks: [], feature: "", agent: "", model: "", workers: "1", approve: "ask",
  worktree: false, iterations: "", minutes: "", tokens: "", cost: "",
};

const SOURCES: readonly (readonly [Source, string])[] = [
  ["open", "Work on the open tasks"],
  ["tasks", "Work on chosen tasks"],
  ["text", "Plan and do a specification that I write here"],
  ["file", "Plan and do a specification in a file"],
];

const APPROVALS = [
  ["ask", "reading; asks me for the rest"],
  ["edits", "reading and editing files"],
  ["all", "everything"],
  ["none", "only reading"],
] as const;

export function StartRunView(): JSX.Element {
  const { filters } = useAddress();
  const resumed = filters.resume ?? "";
  const choices = useRead("run_choices", {}, { on: [] });
  const known = useRead("run_order", { run: resumed }, { on: [], skip: !resumed });
  if (choices.error) return <ErrorNote error={choices.error} onRetry={choices.reload} />;
  if (!choices.answer || (resumed && !known.answer)) return <LoadingNote />;
  const before = known.answer?.order ?? null;
  return <StartRunForm choices={choices.answer} resumed={resumed} first={firstDraft(choices.answer, filters.tasks ?? "", resumed, before)} />;
}

function firstDraft(choices: RunChoices, tasks: string, resumed: string, before: RunOrder | null): Draft {
  const offered = choices.agents.find((one) => one.is_installed)?.name ?? "";
  const draft: Draft = { ...EMPTY, agent: choices.agent || offered, model: choices.model, tasks: tasks.split(",").filter(Boolean), source: tasks ? "tasks" : "open", name: resumed };
  if (!before) return draft;
  return {
    ...draft,
    agent: before.agent || draft.agent,
    model: before.model ?? "",
    workers: String(before.workers ?? 1),
    approve: before.approve ?? "ask",
    worktree: before.worktree ?? false,
    iterations: numberText(before.iterations),
    minutes: numberText(before.minutes),
    tokens: numberText(before.tokens),
    cost: numberText(before.cost),
  };
}

const numberText = (value: number | null | undefined): string => (value === null || value === undefined ? "" : String(value));
const numberOf = (text: string): number | null => (text.trim() === "" || Number.isNaN(Number(text)) ? null : Number(text));

function orderOf(draft: Draft, resumed: string): RunOrder {
  const source = resumed ? "open" : draft.source;
  return {
    name: resumed || draft.name.trim(),
    specification: source === "text" ? draft.text : "",
    spec_file: source === "file" ? draft.file.trim() : "",
    tasks: source === "tasks" ? [...draft.tasks] : [],
    feature: source === "open" && !resumed ? draft.feature : "",
    agent: draft.agent.trim(),
    model: draft.model.trim(),
    workers: numberOf(draft.workers) ?? 1,
    worktree: draft.worktree,
    approve: draft.approve,
    iterations: numberOf(draft.iterations),
    minutes: numberOf(draft.minutes),
    tokens: numberOf(draft.tokens),
    cost: numberOf(draft.cost),
    resume: resumed !== "",
  };
}

interface StartRunFormProps {
  choices: RunChoices;
  resumed: string;
  first: Draft;
}

function StartRunForm({ choices, resumed, first }: StartRunFormProps): JSX.Element {
  const [draft, setDraft] = useState(first);
  const [asked, setAsked] = useState<RunOrder | null>(null);
  const [preview, setPreview] = useState<RunStartPreview | null>(null);
  const preparing = useAction("run_start_preview", { errors: "inline" });
  const [started, setStarted] = useState<StartedRun | null>(null);
  const set = <Key extends keyof Draft>(key: Key, value: Draft[Key]) => setDraft({ ...draft, [key]: value });
  const look = async () => {
    const order = orderOf(draft, resumed);
    const found = await preparing.run({ order });
    if (!found) return;
    setAsked(order);
    setPreview(found);
  };
  const close = () => {
    setPreview(null);
    setAsked(null);
  };
  const show = (run: StartedRun) => {
    close();
    setStarted(run);
  };
  if (started) return <StartingRun first={started} onAgain={() => setStarted(null)} />;
  const title = resumed ? `Resume the run ${resumed}` : "Start a run";
  return (
    <section class="start-run">
      <header class="view-head">
        <h1>
          <a class="up-link" href={formatAddress({ view: "runs" })}>
            Runs
          </a>{" "}
          <span aria-hidden="true">/</span> {title}
        </h1>
      </header>
      <Form label={title} action="Show the command" onSubmit={() => void look()} isPending={preparing.isPending} error={preparing.error} isReady={isReady(draft, resumed)}>
        {!resumed && <SourceFields draft={draft} set={set} choices={choices} />}
        <AgentFields draft={draft} set={set} choices={choices} />
        <fieldset class="form-group">
          <legend>At most</legend>
          <TextField label="Iterations" kind="number" value={draft.iterations} onChange={(value) => set("iterations", value)} />
          <TextField label="Minutes" kind="number" value={draft.minutes} onChange={(value) => set("minutes", value)} />
          <TextField label="Tokens" kind="number" value={draft.tokens} onChange={(value) => set("tokens", value)} />
          <TextField label="Cost" kind="number" value={draft.cost} onChange={(value) => set("cost", value)} help="In the currency that the agent reports." />
        </fieldset>
      </Form>
      {asked && preview && <ConfirmStart order={asked} preview={preview} onClose={close} onStarted={show} />}
    </section>
  );
}

function isReady(draft: Draft, resumed: string): boolean {
  if (!draft.agent.trim()) return false;
  if (resumed) return true;
  const needed = { open: "-", tasks: draft.tasks.join(), text: draft.text, file: draft.file }[draft.source];
  return needed.trim() !== "";
}

interface PartProps {
  draft: Draft;
  set: <Key extends keyof Draft>(key: Key, value: Draft[Key]) => void;
  choices: RunChoices;
}

function SourceFields({ draft, set, choices }: PartProps): JSX.Element {
  return (
    <fieldset class="form-group">
      <legend>What to do</legend>
      <ChoiceField label="Work" value={draft.source} onChange={(value) => set("source", value as Source)} choices={SOURCES} />
      {draft.source === "text" && <TextField label="Specification" rows={12} value={draft.text} onChange={(value) => set("text", value)} help="Its first line names the run. Agents plan tasks from it, and then do them." />}
      {draft.source === "file" && <TextField label="File" value={draft.file} onChange={(value) => set("file", value)} suggestions={choices.files} />}
      {draft.source === "tasks" && <TaskPicker chosen={draft.tasks} onChange={(value) => set("tasks", value)} />}
      {draft.source === "open" && choices.features.length > 0 && (
        <ChoiceField label="Feature" value={draft.feature} onChange={(value) => set("feature", value)} choices={[["", "all features"], ...choices.features.map((one) => [one, one] as const)]} />
      )}
      <TextField label="Name of the run" value={draft.name} onChange={(value) => set("name", value)} placeholder="made from what it does" />
    </fieldset>
  );
}

function AgentFields({ draft, set, choices }: PartProps): JSX.Element {
  const missing = choices.agents.find((one) => one.name === draft.agent.trim() && !one.is_installed);
  return (
    <fieldset class="form-group">
      <legend>Who does it</legend>
      <TextField
        label="Agent"
        value={draft.agent}
        onChange={(value) => set("agent", value)}
        suggestions={choices.agents.map((one) => one.name)}
        help={missing ? `Not installed: ${missing.install}` : "A known agent, or a command that speaks ACP."}
      />
      <TextField label="Model" value={draft.model} onChange={(value) => set("model", value)} suggestions={choices.models} placeholder="the agent's own" />
      <TextField label="Workers" kind="number" value={draft.workers} onChange={(value) => set("workers", value)} help="Several work at the same time, each in a tree of its own." />
      <ChoiceField label="What it may do" value={draft.approve} onChange={(value) => set("approve", value as Draft["approve"])} choices={APPROVALS} />
      <CheckField label="In a tree and on a branch of its own" isChecked={draft.worktree} onChange={(value) => set("worktree", value)} />
    </fieldset>
  );
}
