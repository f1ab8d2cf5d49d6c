// The last question before a run starts: this command, in this folder, with these things of the project in effect.
import type { JSX } from "preact";
import type { EffectOfTrust, RunOrder, RunStartPreview, StartedRun } from "../../api/types";
import { CodeText } from "../../parts/code_text";
import { ConfirmDialog } from "../../parts/dialog";
import { ErrorNote } from "../../parts/notes";
import { formatAddress } from "../../router";
import { useAction } from "../../state/action";

const APPROVALS: Record<string, string> = {
  ask: "It asks you for what is more than reading.",
  edits: "It may edit files; anything else is refused.",
  all: "It may do everything without asking.",
  none: "It may change nothing.",
};

const MAX_FILES = 12;

export interface ConfirmStartProps {
  order: RunOrder;
  preview: RunStartPreview;
  onClose: () => void;
  onStarted: (run: StartedRun) => void;
}

export function ConfirmStart({ order, preview, onClose, onStarted }: ConfirmStartProps): JSX.Element {
  const start = useAction("start_run", { errors: "inline" });
  const confirm = async () => {
    const run = await start.run({ order, command: preview.command });
    if (run) onStarted(run);
  };
  const used = preview.trust.filter((one) => one.state === "trusted");
  const unused = preview.trust.filter((one) => one.state !== "trusted");
  const changed = preview.changed_files;
  return (
    <ConfirmDialog title="Start this run?" action="Start the run" isPending={start.isPending} onConfirm={() => void confirm()} onClose={onClose}>
      <CodeText text={preview.command} label="Command" />
      <p>
        In <code>{preview.folder}</code>, with the agent <code>{preview.agent}</code>. {APPROVALS[preview.approve]}
      </p>
      <TrustList title="In effect, because you trust it:" items={used} />
      {unused.length > 0 && (
        <>
          <TrustList title="Without effect, because nobody trusts it as it is now:" items={unused} />
          <p>
            <a href={formatAddress({ view: "needs_you" })}>Review it</a> first if the run needs it.
          </p>
        </>
      )}
      {changed.length > 0 && (
        <details>
          <summary>
            {changed.length} file{changed.length === 1 ? " is" : "s are"} not committed
          </summary>
          <ul class="file-list">
            {changed.slice(0, MAX_FILES).map((name) => (
              <li key={name}>
                <code>{name}</code>
              </li>
            ))}
          </ul>
          {changed.length > MAX_FILES && <p class="muted">and {changed.length - MAX_FILES} more</p>}
          <p class="muted">They stay as they are; commits of the run leave them out.</p>
        </details>
      )}
      {start.error && <ErrorNote error={start.error} />}
    </ConfirmDialog>
  );
}

function TrustList({ title, items }: { title: string; items: readonly EffectOfTrust[] }): JSX.Element | null {
  if (!items.length) return null;
  return (
    <div>
      <p>{title}</p>
      <ul class="file-list">
        {items.map((one) => (
          <li key={one.key}>
            <code>{one.key}</code> <span class="muted">would {one.does}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
