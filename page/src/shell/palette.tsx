// Every action and task by what is typed. The actions are those of the page and of the view that is shown.
import type { JSX } from "preact";
import { useDeferredText } from "../state/deferred_text";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { giveFocusTo } from "../parts/dialog";
import { StatusBadge } from "../parts/badge";
import { navigate, taskAddress } from "../router";
import { commands$ } from "../state/commands";
import { useRead } from "../state/read";
import { useStore } from "../state/store";

interface Choice {
  id: string;
  title: string;
  group: string;
  keys?: string;
  status?: string;
  run: () => void;
}

const MAX_TASKS = 20;

export function Palette({ onClose }: { onClose: () => void }): JSX.Element {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const choices = useChoices(text);
  useLayoutEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      dialog.current?.close();
      giveFocusTo(opener);
    };
  }, []);
  useLayoutEffect(() => {
    dialog.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [chosen, choices.length]);

  const at = Math.min(chosen, choices.length - 1);
  const run = (choice: Choice | undefined) => {
    if (!choice) return;
    onClose();
    queueMicrotask(choice.run);
  };
  const press = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step && choices.length) setChosen((at + step + choices.length) % choices.length);
    else if (event.key === "Enter") run(choices[at]);
    else return;
    event.preventDefault();
  };
  const cancel = (event: Event) => {
    event.preventDefault();
    onClose();
  };
  const closeOutside = (event: MouseEvent) => event.target === dialog.current && onClose();
  return (
    <dialog ref={dialog} class="palette" aria-label="Find a task or an action" onCancel={cancel} onClick={closeOutside}>
      <input
        type="text"
        class="palette-input"
        role="combobox"
        autofocus
        autocomplete="off"
        spellcheck={false}
        placeholder="Find a task or an action"
        aria-label="Find a task or an action"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={choices[at] && `${id}-${choices[at].id}`}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={press}
      />
      <div id={`${id}-list`} class="palette-list" role="listbox" aria-label="Found">
        {choices.map((choice, index) => (
          <div
            key={choice.id}
            id={`${id}-${choice.id}`}
            class="palette-choice"
            role="option"
            aria-selected={index === at}
            onClick={() => run(choice)}
          >
            <span class="palette-group">{choice.group}</span>
            <span class="palette-title">{choice.title}</span>
            {choice.status && <StatusBadge status={choice.status} />}
            {choice.keys && <kbd>{choice.keys}</kbd>}
          </div>
        ))}
        {choices.length === 0 && <p class="palette-empty">Nothing is called like this.</p>}
      </div>
    </dialog>
  );
}

function useChoices(text: string): Choice[] {
  const commands = useStore(commands$, (all) => all);
  const wanted = useDeferredText(text.trim());
  const found = useRead("search_tasks", { text: wanted, limit: MAX_TASKS }, { skip: wanted === "", on: [] }).answer;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const actions = commands
    .filter((one) => words.every((word) => `${one.group} ${one.title}`.toLowerCase().includes(word)))
    .sort((one, other) => Number(one.isEverywhere ?? false) - Number(other.isEverywhere ?? false))
    .map((one, at) => ({ ...one, id: `action-${at}` }));
  const tasks = (text.trim() ? (found?.tasks ?? []) : []).map((task) => ({
    id: `task-${task.id}`,
    title: task.title,
    group: task.id,
    status: task.status,
    run: () => navigate(taskAddress(task.id)),
  }));
  return words.length ? [...tasks.slice(0, 1), ...actions, ...tasks.slice(1)].sort(byExactId(text)) : actions;
}

/** A task whose id was typed comes first. */
function byExactId(text: string): (a: Choice, b: Choice) => number {
  const isExact = (choice: Choice) => (choice.status && choice.group === text.trim() ? 0 : 1);
  return (a, b) => isExact(a) - isExact(b);
}
