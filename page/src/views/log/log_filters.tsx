// What the log is filtered by. Every filter is in the address.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { statusWords } from "../../parts/badge";
import { ChoiceField, TextField } from "../../parts/form";
import { setFilters, useAddress } from "../../router";
import { useDeferredText } from "../../state/deferred_text";
import { useRead } from "../../state/read";

const TIMES = [
  ["", "Any time"],
  ["1h", "Last hour"],
  ["24h", "Last day"],
  ["7d", "Last week"],
  ["30d", "Last month"],
] as const;

export function LogFilters(): JSX.Element {
  const { filters } = useAddress();
  const { answer: words } = useRead("log_words", {}, { on: ["agent"] });
  const { entity = "", action = "", actor = "", since = "" } = filters;
  const kinds = words?.kinds ?? [];
  const actions = new Set(kinds.filter((kind) => !entity || kind.entity === entity).flatMap((kind) => kind.actions));
  const known = (chosen: string, names: Iterable<string>) => [...new Set([...(chosen ? [chosen] : []), ...names])];
  const times = TIMES.some(([value]) => value === since) ? TIMES : [...TIMES, [since, `Since ${since}`] as const];
  const names = new Map(words?.actors ?? []);
  return (
    <search class="log-filters" aria-label="Filters of the log">
      <FilterText name="text" label="Text" placeholder="words or a title" />
      <FilterText name="about" label="About" placeholder="bn-1f3a" />
      <ChoiceField
        label="What"
        value={entity}
        onChange={(value) => setFilters({ entity: value, action: "" })}
        choices={[["", "Everything"], ...known(entity, kinds.map((kind) => kind.entity)).map((name) => [name, statusWords(name)] as const)]}
      />
      <ChoiceField
        label="Done with it"
        value={action}
        onChange={(value) => setFilters({ action: value })}
        choices={[["", "Anything"], ...known(action, [...actions].sort()).map((name) => [name, name.replaceAll("_", " ")] as const)]}
      />
      <ChoiceField
        label="By"
        value={actor}
        onChange={(value) => setFilters({ actor: value })}
        choices={[["", "Anyone"], ...known(actor, names.keys()).map((id) => [id, describeActor(id, names.get(id))] as const)]}
      />
      <ChoiceField label="When" value={since} onChange={(value) => setFilters({ since: value, until: "" })} choices={times} />
    </search>
  );
}

function describeActor(id: string, name: string | undefined): string {
  return name && name !== id ? `${name} (${id})` : id;
}

/** A filter that is typed: it counts once the person pauses. */
function FilterText({ name, label, placeholder }: { name: string; label: string; placeholder: string }): JSX.Element {
  const given = useAddress().filters[name] ?? "";
  const [text, setText] = useState(given);
  const settled = useDeferredText(text);
  useEffect(() => {
    if (settled === text && settled !== given) setFilters({ [name]: settled });
  }, [settled]);
  useEffect(() => setText(given), [given]);
  return <TextField label={label} kind="search" value={text} onChange={setText} placeholder={placeholder} />;
}
