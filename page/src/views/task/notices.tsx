// What somebody who opens a task has to know first: checks that run or failed, questions, what blocks it, how it ended.
import type { JSX } from "preact";
import type { Question } from "../../api/types";
import { Age } from "../../parts/age";
import { Markdown } from "../../parts/markdown";
import { formatAddress, useAddress } from "../../router";
import { checks$, runChecks } from "../../state/checks";
import { useProject } from "../../state/projects";
import { useStore } from "../../state/store";
import { nameOf, type SectionProps } from "./section_props";

export function TaskNotices(props: SectionProps): JSX.Element {
  const { task, questions = [], waivers = [], review } = props.page.details;
  return (
    <>
      <ChecksNotice {...props} />
      {review && (
        <p class="notice">
          It waits for a review{review.require === "agent" ? " by an agent" : ""}.{" "}
          <a href={formatAddress({ view: "review", rest: [task.id] })}>Look at the change</a>
        </p>
      )}
      {questions.filter((one) => !one.answered_at).map((one) => (
        <OpenQuestion key={one.id} question={one} name={nameOf(props.page, one.asked_by)} />
      ))}
      {task.closed_reason && (
        <div class="notice quiet">
          <Markdown text={task.closed_reason} />
        </div>
      )}
      {waivers.map((one) => (
        <p class="notice warning" key={one.id}>
          {one.waived_by} closed it without its checks: {one.reason} <Age at={one.created_at} />
        </p>
      ))}
    </>
  );
}

function OpenQuestion({ question, name }: { question: Question; name: string }): JSX.Element {
  return (
    <div class="notice warning">
      <p>
        <b>{name}</b> asks{question.blocking ? ", and waits for the answer" : ""}:
      </p>
      <Markdown text={question.text} />
      <p>
        <a href={formatAddress({ view: "needs_you" })}>Answer it</a>
      </p>
    </div>
  );
}

/** Checks that run from this page, a `done` that waits for its checks, or why it was refused. */
function ChecksNotice({ page, isReadonly, onChanged }: SectionProps): JSX.Element | null {
  const { task, request, needs = [] } = page.details;
  const { project } = useAddress();
  const running = useStore(checks$, (all) => all[task.id]);
  const person = useProject();
  if (running?.isRunning) {
    return (
      <div class="notice info" role="status">
        <p>
          Its checks run: {running.text || "they begin…"}{" "}
          <button type="button" class="link-button" onClick={running.stop}>
            Stop them
          </button>
        </p>
      </div>
    );
  }
  if (!request || request.state === "granted" || task.status === "done") return null;
  if (request.state === "refused") {
    return request.reason ? (
      <div class="notice bad">
        <p>
          {nameOf(page, request.asked_by)} called it done, and it is not <Age at={request.asked_at} />:
        </p>
        <Markdown text={request.reason} />
      </div>
    ) : null;
  }
  const run = () => void runChecks(project, task.id, task.title, needs).then(onChanged);
  return (
    <p class="notice info">
      {nameOf(page, request.asked_by)} called it done. It waits for its checks: {needs.join(", ")}.{" "}
      {!isReadonly && person && (
        <button type="button" class="link-button" onClick={run}>
          Run them now
        </button>
      )}
    </p>
  );
}
