// One task: what it asks, what shows that it is done, what was tried, and everything that can be changed about it.
import type { JSX } from "preact";
import { ErrorNote, LoadingNote } from "../../parts/notes";
import { formatAddress, useAddress } from "../../router";
import { useIsReadonly } from "../../state/projects";
import { useRead } from "../../state/read";
import { TaskActivity } from "./activity";
import { TaskAttempts } from "./attempts";
import { TaskChange } from "./change";
import { TaskCriteria } from "./criteria";
import { TaskDependencies } from "./dependencies";
import { TaskEvidence } from "./evidence";
import { TaskFacts } from "./facts";
import { TaskHead } from "./head";
import { TaskNotices } from "./notices";
import { TextSection } from "./text_section";

export default function TaskView(): JSX.Element {
  const [id = ""] = useAddress().rest;
  const read = useRead("task", { id }, { keepsPrevious: false });
  const isReadonly = useIsReadonly();
  const page = read.answer;
  if (!page) {
    return (
      <>
        <p>
          <a href={formatAddress({ view: "board" })}>Board</a>
        </p>
        <h1>{id}</h1>
        {read.error ? <ErrorNote error={read.error} onRetry={read.reload} /> : <LoadingNote />}
      </>
    );
  }
  const { task } = page.details;
  return (
    <article class="task" aria-label={task.title} key={task.id}>
      <TaskHead page={page} isReadonly={isReadonly} onChanged={read.reload} />
      <div class="task-columns">
        <div class="task-main">
          {read.error && <ErrorNote error={read.error} onRetry={read.reload} />}
          <TaskNotices page={page} isReadonly={isReadonly} onChanged={read.reload} />
          <TextSection page={page} name="description" title="Description" isReadonly={isReadonly} onChanged={read.reload} />
          <TaskCriteria page={page} isReadonly={isReadonly} onChanged={read.reload} />
          <TextSection page={page} name="pseudocode" title="Steps" isReadonly={isReadonly} onChanged={read.reload} />
          <TextSection page={page} name="hints" title="Hints" isReadonly={isReadonly} onChanged={read.reload} />
          <TaskEvidence page={page} />
          <TaskChange page={page} isReadonly={isReadonly} onChanged={read.reload} />
          <TaskAttempts page={page} />
          <TaskActivity page={page} isReadonly={isReadonly} onChanged={read.reload} />
        </div>
        <div class="task-aside">
          <TaskFacts page={page} isReadonly={isReadonly} onChanged={read.reload} />
          <TaskDependencies page={page} isReadonly={isReadonly} onChanged={read.reload} />
        </div>
      </div>
    </article>
  );
}
