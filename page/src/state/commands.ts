// What can be done now, by name and key: the palette lists it, `?` shows the keys.
import { useLayoutEffect, useRef } from "preact/hooks";
import { Store } from "./store";

export interface PageCommand {
  /** What it does, as a button would say it. */
  title: string;
  /** The group that it is listed in, such as the name of the view. */
  group: string;
  /** One key, such as `j` or `?`, or two after each other: `g b`. */
  keys?: string;
  /** Offered in every view, after what only this one has. */
  isEverywhere?: boolean;
  run: () => void;
}

export const commands$ = new Store<readonly PageCommand[]>([]);

/** Offers commands while the component is shown. */
export function useCommands(commands: readonly PageCommand[]): void {
  const latest = useRef(commands);
  latest.current = commands;
  const shown = commands.map((one) => `${one.group}|${one.title}|${one.keys ?? ""}`).join("\n");
  useLayoutEffect(() => {
    const offered = commands.map((one, at) => ({ ...one, run: () => latest.current[at]?.run() }));
    commands$.set([...commands$.state, ...offered]);
    return () => commands$.set(commands$.state.filter((one) => !offered.includes(one)));
  }, [shown]);
}

const SEQUENCE_MS = 1_200;
let pressed = "";
let pressedAt = 0;

/** Runs the command of the keys that are pressed, except while somebody types or a dialog is open. */
export function startKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (event.key.length !== 1 && event.key !== "Escape") return;
    const sequence = event.timeStamp - pressedAt < SEQUENCE_MS ? `${pressed} ${event.key}` : event.key;
    const command = findLast(sequence) ?? findLast(event.key);
    pressed = event.key;
    pressedAt = command ? 0 : event.timeStamp;
    if (!command) return;
    event.preventDefault();
    command.run();
  });
}

/** The newest command wins: that of the innermost part that is shown. */
function findLast(keys: string): PageCommand | undefined {
  return commands$.state.findLast((one) => one.keys === keys);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.closest("input, textarea, select, dialog, [role=menu]") !== null;
}
