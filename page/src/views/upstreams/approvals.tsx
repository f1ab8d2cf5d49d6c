// What a person decides about a server, with exactly what it is about: its entry, and tools that changed.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { UpstreamPage, UpstreamTrust } from "../../api/types";
import { ChangeLines } from "../../parts/change_lines";
import { CodeText } from "../../parts/code_text";
import { ConfirmDialog } from "../../parts/dialog";
import { ErrorNote } from "../../parts/notes";
import { useAction } from "../../state/action";
import { useCommands } from "../../state/commands";
import { showToast } from "../../state/messages";
import { useIsReadonly } from "../../state/projects";

export function TrustPart({ trust, onChange }: { trust: UpstreamTrust; onChange: () => void }): JSX.Element {
  const [isAsking, setAsking] = useState(false);
  const isReadonly = useIsReadonly();
  const isChanged = trust.state === "changed";
  useCommands(isReadonly ? [] : [{ title: "Approve it", group: "Upstreams", run: () => setAsking(true) }]);
  return (
    <section class="card-box upstream-part waits">
      <h2>{isChanged ? "It changed since it was approved" : "Nobody has approved it yet"}</h2>
      <p>
        Until you approve it, it is neither started nor connected to. It would <strong>{trust.does}</strong>.
      </p>
      <TrustContent trust={trust} />
      <p class="hint">In {trust.place}.</p>
      {!isReadonly && (
        <div class="button-row">
          <button type="button" class="button primary" onClick={() => setAsking(true)}>
            Approve…
          </button>
        </div>
      )}
      {isAsking && (
        <TrustDialog
          trust={trust}
          onClose={() => {
            setAsking(false);
            onChange();
          }}
        />
      )}
    </section>
  );
}

function TrustContent({ trust }: { trust: UpstreamTrust }): JSX.Element {
  if (trust.changes.length > 0) return <ChangeLines lines={trust.changes} label="What changed since it was approved" />;
  return <CodeText text={trust.content} label="Its complete entry" maxLines={40} />;
}

function TrustDialog({ trust, onClose }: { trust: UpstreamTrust; onClose: () => void }): JSX.Element {
  const { run, isPending, error } = useAction("trust_items", { errors: "inline" });
  const approve = async () => {
    if (!(await run({ items: [{ key: trust.key, sha256: trust.sha256 }] }))) return;
    showToast("Approved. Sessions may use it now.");
    onClose();
  };
  return (
    <ConfirmDialog title="Approve exactly this?" action="Approve" isPending={isPending} onConfirm={approve} onClose={onClose}>
      <p>
        Sessions on this machine may then <strong>{trust.does}</strong>. If the entry changes, you are asked again.
      </p>
      <TrustContent trust={trust} />
      {error && <ErrorNote error={error} />}
    </ConfirmDialog>
  );
}

export function ChangedTools({ page, onChange }: { page: UpstreamPage; onChange: () => void }): JSX.Element {
  const { name, pin } = page.entry.server;
  const [isAsking, setAsking] = useState(false);
  const { run, isPending, error } = useAction("accept_tools", { errors: "inline" });
  const isReadonly = useIsReadonly();
  const accept = async () => {
    const answer = await run({ name, seen: page.seen });
    setAsking(false);
    onChange();
    if (answer) showToast(`Accepted: ${answer.accepted.join(", ")}.`);
  };
  useCommands(isReadonly ? [] : [{ title: "Accept its changed tools", group: "Upstreams", run: () => setAsking(true) }]);
  return (
    <section class="card-box upstream-part waits">
      <h2>Tools that changed since they were accepted</h2>
      <p>{pin === "strict" ? "They are withheld from agents until you accept them." : "Agents get them as they are now."}</p>
      {page.changes.map((change) => (
        <details key={change.tool} open={page.changes.length < 4}>
          <summary>
            <strong>{change.tool}</strong> {change.kind}
            {change.was && `, was ${change.was}`}
          </summary>
          <ChangeLines lines={change.diff.split("\n")} label={`What changed in ${change.tool}`} />
        </details>
      ))}
      {error && <ErrorNote error={error} />}
      {!isReadonly && (
        <div class="button-row">
          <button type="button" class="button primary" onClick={() => setAsking(true)}>
            Accept…
          </button>
        </div>
      )}
      {isAsking && (
        <ConfirmDialog title="Accept the changed tools?" action="Accept" isPending={isPending} onConfirm={accept} onClose={() => setAsking(false)}>
          <p>Agents read the descriptions of tools as instructions. Accept them only if you have read what changed.</p>
          <p>{page.changes.map((change) => change.tool).join(", ")}</p>
        </ConfirmDialog>
      )}
    </section>
  );
}
