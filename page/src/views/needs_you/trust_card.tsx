// What came with the project and has no effect until the person trusts it: shown in full, and asked again.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { TrustCause, WaitingTrust } from "../../api/types";
import { Badge } from "../../parts/badge";
import { ConfirmDialog } from "../../parts/dialog";
import { DiffText } from "../../parts/diff/diff_text";
import { splitHidden } from "../../parts/diff/visible_text";
import { CheckField } from "../../parts/form";
import { ErrorNote } from "../../parts/notes";
import { useAction } from "../../state/action";
import { useIsReadonly } from "../../state/projects";
import { CardFrame } from "./cause_card";

export interface TrustCardProps {
  cause: TrustCause;
  onTrusted: () => void;
}

export function TrustCard({ cause, onTrusted }: TrustCardProps): JSX.Element {
  const isReadonly = useIsReadonly();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [isAsking, setAsking] = useState(false);
  const toggle = (key: string, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(key);
    else next.delete(key);
    setChosen(next);
  };
  const items = cause.items.filter((one) => chosen.has(one.key));
  const count = cause.items.length;
  const title = count === 1 ? "1 thing of this project has no effect until you trust it" : `${count} things of this project have no effect until you trust them`;
  return (
    <CardFrame id="trust" kind="Trust" tone="warning" title={count ? title : "A file of this project cannot be read"}>
      {cause.problems.map((one) => (
        <ErrorNote key={one.message} error={one} />
      ))}
      <ul class="trust-list">
        {cause.items.map((one) => (
          <li key={one.key}>
            <TrustItemText item={one} />
            <CheckField label={`Trust ${one.key}`} isChecked={chosen.has(one.key)} onChange={(value) => toggle(one.key, value)} />
          </li>
        ))}
      </ul>
      {count > 0 && (
        <div class="button-row decision">
          <button type="button" class="button primary" disabled={isReadonly || items.length === 0} onClick={() => setAsking(true)}>
            Trust what is chosen…
          </button>
          <span class="muted">Look at each first: it would run on this machine as you.</span>
        </div>
      )}
      {isAsking && <TrustDialog items={items} onClose={() => setAsking(false)} onTrusted={onTrusted} />}
    </CardFrame>
  );
}

function TrustItemText({ item }: { item: WaitingTrust }): JSX.Element {
  return (
    <details class="trust-item">
      <summary>
        <strong>{splitHidden(item.key)}</strong> {item.state === "changed" && <Badge tone="warning">changed since you trusted it</Badge>}
        <span class="muted"> would {splitHidden(item.does)}</span>
      </summary>
      <p class="muted">In {splitHidden(item.place)}</p>
      <DiffText text={item.changes.length > 0 ? item.changes.join("\n") : item.content} label={`What ${item.key} contains`} />
    </details>
  );
}

function TrustDialog({ items, onClose, onTrusted }: { items: readonly WaitingTrust[]; onClose: () => void; onTrusted: () => void }): JSX.Element {
  const { run, isPending, error } = useAction("trust_items", { done: "Trusted.", errors: "inline" });
  const trust = async () => {
    if (!(await run({ items: items.map(({ key, sha256 }) => ({ key, sha256 })) }))) return;
    onTrusted();
    onClose();
  };
  return (
    <ConfirmDialog title="Trust exactly this?" action={items.length === 1 ? "Trust it" : `Trust these ${items.length}`} isPending={isPending} onConfirm={trust} onClose={onClose}>
      {items.map((one) => (
        <section key={one.key} class="trust-item">
          <h3>{splitHidden(one.key)}</h3>
          <p>It would {splitHidden(one.does)}.</p>
          <DiffText text={one.content} label={`What ${one.key} contains`} maxLines={12} />
        </section>
      ))}
      {error && <ErrorNote error={error} />}
    </ConfirmDialog>
  );
}
