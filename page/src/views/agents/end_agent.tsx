// Asks before an agent is ended, and says what becomes of its process and its tasks.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { WorkingAgent } from "../../api/types";
import { ConfirmDialog } from "../../parts/dialog";
import { TextField } from "../../parts/form";
import { ErrorNote } from "../../parts/notes";
import { useAction } from "../../state/action";
import { showToast } from "../../state/messages";

export function EndAgentDialog({ agent: one, onClose }: { agent: WorkingAgent; onClose: () => void }): JSX.Element {
  const [reason, setReason] = useState("");
  const { run, isPending, error } = useAction("end_agent", { errors: "inline" });
  const end = async () => {
    const answer = await run({ id: one.agent.id, reason });
    if (!answer) return;
    showToast(`${answer.name}: ${answer.how}${answer.released.length ? `; gave back ${answer.released.join(", ")}` : ""}.`);
    onClose();
  };
  return (
    <ConfirmDialog title={`End ${one.agent.name}?`} action="End the agent" kind="dangerous" isPending={isPending} onConfirm={end} onClose={onClose}>
      <p>{describeEnd(one)}</p>
      {one.tasks.length > 0 && <p>It gives back {one.tasks.map((task) => `“${task.title}”`).join(", ")}. What it changed in its folder stays.</p>}
      <TextField label="Why (kept in the log)" value={reason} onChange={setReason} placeholder="went in circles" />
      {error && <ErrorNote error={error} />}
    </ConfirmDialog>
  );
}

function describeEnd({ agent, process }: WorkingAgent): string {
  if (agent.registered === "mcp") return "Its registration ends. Its client goes on: people may work in it.";
  if (agent.alive) return `Its process ${agent.pid} (${process || "alive"}) is told to end, and killed after five seconds.`;
  return "Its registration ends. No process of it is alive here.";
}
