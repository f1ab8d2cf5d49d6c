// What the board shows of all tasks. Every choice is in the address, so that a filtered board can be linked.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { PRIORITIES, statusWords } from "../../parts/badge";
import { ChoiceField, TextField } from "../../parts/form";
import { type Filters, setFilters } from "../../router";
import { useDeferredText } from "../../state/deferred_text";
import { useRead } from "../../state/read";

const LEVELS = ["said", "observed", "checked", "merged", "accepted", "waived"] as const;
const CHOSEN = ["feature", "discipline", "agent", "tag", "level", "priority"] as const;

export interface BoardFiltersProps {
  filters: Filters;
  total: number | undefined;
}

export function BoardFilters({ filters, total }: BoardFiltersProps): JSX.Element {
  const chosen = CHOSEN.filter((name) => filters[name]).length;
  const [isOpen, setOpen] = useState(chosen > 0);
  const isFiltered = chosen > 0 || Boolean(filters.text);
  const clear = () => setFilters(Object.fromEntries(["text", ...CHOSEN].map((name) => [name, ""])));
  return (
    <search class="board-filters" aria-label="Filter the board">
      <TextFilter text={filters.text ?? ""} />
      <button type="button" class="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Filters
        {chosen > 0 && <span class="count">{chosen}</span>}
      </button>
      {isFiltered && (
        <button type="button" class="link-button" onClick={clear}>
          Clear
        </button>
      )}
      {total !== undefined && <p class="board-total muted">{total === 1 ? "1 task" : `${total.toLocaleString()} tasks`}</p>}
      {isOpen && <Choices filters={filters} />}
    </search>
  );
}

function TextFilter({ text }: { text: string }): JSX.Element {
  const [typed, setTyped] = useState(text);
  const settled = useDeferredText(typed);
  useEffect(() => {
    if (settled !== text) setFilters({ text: settled });
  }, [settled]);
  useEffect(() => setTyped(text), [text]);
  return <TextField label="Words of the title" isLabelHidden kind="search" placeholder="Words or an id" value={typed} onChange={setTyped} />;
}

function Choices({ filters }: { filters: Filters }): JSX.Element {
  const known = useRead("board_choices", {}, { on: ["feature", "discipline"] }).answer;
  const offered: Record<(typeof CHOSEN)[number], readonly (readonly [string, string])[]> = {
    feature: plain(known?.features),
    discipline: plain(known?.disciplines),
    agent: plain(known?.agents),
    tag: plain(known?.tags),
    level: plain(LEVELS),
    priority: PRIORITIES.map((name, number) => [String(number), statusWords(name)] as const),
  };
  const titles = { feature: "Feature", discipline: "Discipline", agent: "Held by", tag: "Tag", level: "Known as", priority: "Priority" };
  return (
    <div class="board-choices">
      {CHOSEN.map((name) => (
        <ChoiceField
          key={name}
          label={titles[name]}
          value={filters[name] ?? ""}
          choices={[["", "Any"], ...withChosen(offered[name], filters[name])]}
          onChange={(value) => setFilters({ [name]: value }, { replace: false })}
        />
      ))}
    </div>
  );
}

function plain(names: readonly string[] | undefined): (readonly [string, string])[] {
  return (names ?? []).map((name) => [name, name] as const);
}

/** What is chosen is offered, also when nothing has it any more. */
function withChosen(offered: readonly (readonly [string, string])[], chosen: string | undefined): readonly (readonly [string, string])[] {
  return chosen && !offered.some(([name]) => name === chosen) ? [...offered, [chosen, chosen]] : offered;
}
