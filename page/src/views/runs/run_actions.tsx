// What a person can do to a run: pause, resume, send a message, stop, start it again, share its report.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api, ApiError } from "../../api/client";
import type { RunDetails } from "../../api/types";
import { ConfirmDialog, Dialog } from "../../parts/dialog";
import { ChoiceField, Form, TextField } from "../../parts/form";
import { formatAddress, navigate, useAddress } from "../../router";
import { useAction } from "../../state/action";
import { useCommands } from "../../state/commands";
import { showError, showToast } from "../../state/messages";
import { useIsReadonly } from "../../state/projects";

type Asking = "" | "message" | "stop";

export function RunActions({ details }: { details: RunDetails }): JSX.Element {
  const { run, state } = details.listed;
  const { project } = useAddress();
  const isReadonly = useIsReadonly();
  const [asking, setAsking] = useState<Asking>("");
  const pause = useAction("pause_run");
  const resume = useAction("resume_run");
  const isDriven = details.listed.driven > 0;
  const steer = async (action: typeof pause | typeof resume) => {
    const done = await action.run({ run: run.id });
    if (done) showToast(`${done.said.charAt(0).toUpperCase()}${done.said.slice(1)}.`);
  };
  const toggle = () => void steer(state === "paused" ? resume : pause);
  const again = () => navigate({ view: "runs", rest: ["new"], filters: { resume: run.name } });
  const share = () => void shareReport(project, run.id);
  useCommands([
    { title: "Share the report of the run", group: "Run", run: share },
    ...(isDriven && !isReadonly
      ? [
          { title: state === "paused" ? "Resume the run" : "Pause the run", group: "Run", keys: "p", run: toggle },
          { title: "Send the agents a message", group: "Run", keys: "m", run: () => setAsking("message") },
          { title: "Stop the run", group: "Run", run: () => setAsking("stop") },
        ]
      : []),
  ]);
  return (
    <div class="button-row">
      {isDriven && !isReadonly && (
        <>
          <button type="button" class="button" disabled={pause.isPending || resume.isPending} onClick={toggle}>
            {state === "paused" ? "Resume" : "Pause"}
          </button>
          <button type="button" class="button" onClick={() => setAsking("message")}>
            Message
          </button>
          <button type="button" class="button dangerous" onClick={() => setAsking("stop")}>
            Stop
          </button>
        </>
      )}
      {!isDriven && !isReadonly && (
        <button type="button" class={`button ${state === "interrupted" ? "primary" : ""}`} onClick={again}>
          Resume the run
        </button>
      )}
      <a class="button" href={formatAddress({ view: "review", rest: ["run", run.id] })}>
        Changes
      </a>
      <button type="button" class="button" onClick={share}>
        Share
      </button>
      {asking === "message" && <MessageDialog details={details} onClose={() => setAsking("")} />}
      {asking === "stop" && <StopDialog details={details} onClose={() => setAsking("")} />}
    </div>
  );
}

function MessageDialog({ details, onClose }: { details: RunDetails; onClose: () => void }): JSX.Element {
  const [text, setText] = useState("");
  const [to, setTo] = useState(details.listed.run.id);
  const send = useAction("message_run", { errors: "inline" });
  const working = details.workers.filter((one) => one.is_driven);
  const submit = async () => {
    const done = await send.run({ run: to, text });
    if (!done) return;
    showToast(`${done.said.charAt(0).toUpperCase()}${done.said.slice(1)}.`);
    onClose();
  };
  return (
    <Dialog title={`Message to ${details.listed.run.name}`} onClose={onClose}>
      <Form label="Message" action="Send" isPending={send.isPending} isReady={text.trim() !== ""} error={send.error} onSubmit={() => void submit()} onCancel={onClose}>
        {working.length > 1 && (
          <ChoiceField
            label="To"
            value={to}
            onChange={setTo}
            choices={[[details.listed.run.id, "all agents at work"], ...working.map((one) => [one.session, `worker ${one.number}: ${one.title || "at rest"}`] as const)]}
          />
        )}
        <TextField label="Message" value={text} onChange={setText} rows={5} isFocused help="The agent reads it when its turn ends, and goes on with it." />
      </Form>
    </Dialog>
  );
}

function StopDialog({ details, onClose }: { details: RunDetails; onClose: () => void }): JSX.Element {
  const { run, driven } = details.listed;
  const stop = useAction("stop_run");
  const [isTold, setTold] = useState(false);
  useEffect(() => {
    if (isTold && driven === 0) {
      showToast(`The run ${run.name} has stopped.`);
      onClose();
    }
  }, [isTold, driven]);
  const confirm = async () => {
    if (await stop.run({ run: run.id })) setTold(true);
  };
  const at = details.listed.working_on;
  return (
    <ConfirmDialog
      title={`Stop the run ${run.name}?`}
      action={isTold ? "Stop without waiting for agents" : "Stop the run"}
      kind="dangerous"
      isPending={stop.isPending}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      {isTold ? (
        <p role="status">It was told to stop. Its agents are being ended…</p>
      ) : (
        <>
          <p>
            {at.length ? `Its agents work on ${at.map((title) => `“${title}”`).join(", ")}. They are interrupted` : "Nothing is under way"}
            {at.length ? ", and their tasks are given back." : "."} What they changed is kept, and the run can be resumed.
          </p>
        </>
      )}
    </ConfirmDialog>
  );
}

/** Saves the report of a run as a file that needs nothing else. */
async function shareReport(project: string, run: string): Promise<void> {
  try {
    const report = await api.read(project, "run_report", { run });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([report.html], { type: "text/html" }));
    link.download = report.file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    showToast(`Saved as ${report.file}. It is one file and needs nothing else.`);
  } catch (problem) {
    if (problem instanceof ApiError) showError(problem);
  }
}
