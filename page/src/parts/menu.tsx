// A button that opens a list of actions. Arrow keys, Home, End and first letters move; Escape and Tab close.
import type { ComponentChildren, JSX } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface MenuItem {
  title: string;
  /** Said in smaller letters below. */
  note?: string;
  run: () => void;
  isDisabled?: boolean;
  isDangerous?: boolean;
  /** For a choice: whether it is the one that holds now. */
  isChosen?: boolean;
}

export interface MenuProps {
  /** What the button shows. */
  children: ComponentChildren;
  /** The name of button and menu, if what it shows is not enough. */
  label?: string;
  items: readonly MenuItem[];
  class?: string;
  isDisabled?: boolean;
}

const MARGIN_PX = 8;

export function Menu({ children, label, items, class: style = "button", isDisabled = false }: MenuProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const close = (givesFocus: boolean) => {
    setOpen(false);
    if (givesFocus) button.current?.focus();
  };
  const openByKey = (event: KeyboardEvent) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    setOpen(true);
  };
  return (
    <>
      <button
        type="button"
        ref={button}
        class={style}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        aria-label={label}
        disabled={isDisabled}
        onClick={() => setOpen(!isOpen)}
        onKeyDown={openByKey}
      >
        {children}
      </button>
      {isOpen && <MenuList id={id} label={label} items={items} button={button} onClose={close} />}
    </>
  );
}

interface MenuListProps {
  id: string;
  label: string | undefined;
  items: readonly MenuItem[];
  button: { current: HTMLButtonElement | null };
  onClose: (givesFocus: boolean) => void;
}

function MenuList({ id, label, items, button, onClose }: MenuListProps): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = list.current;
    if (!element || !button.current) return undefined;
    element.showPopover();
    placeBelow(element, button.current);
    choices(element)[0]?.focus();
    const closeOutside = (event: PointerEvent) => {
      const target = event.target as Node;
      if (!element.contains(target) && !button.current?.contains(target)) onClose(false);
    };
    const closeOnScroll = (event: Event) => {
      if (!element.contains(event.target as Node)) onClose(false);
    };
    document.addEventListener("pointerdown", closeOutside);
    document.addEventListener("scroll", closeOnScroll, true);
    return () => {
      document.removeEventListener("pointerdown", closeOutside);
      document.removeEventListener("scroll", closeOnScroll, true);
    };
  }, []);
  const run = (item: MenuItem) => {
    onClose(true);
    item.run();
  };
  return (
    <div id={id} class="menu" role="menu" aria-label={label} popover="manual" ref={list} onKeyDown={(event) => moveBy(event, onClose)}>
      {items.map((item) => (
        <button
          key={item.title}
          type="button"
          class={`menu-item ${item.isDangerous ? "dangerous" : ""}`}
          role={item.isChosen === undefined ? "menuitem" : "menuitemradio"}
          aria-checked={item.isChosen}
          tabIndex={-1}
          disabled={item.isDisabled}
          onClick={() => run(item)}
        >
          {item.title}
          {item.note && <small>{item.note}</small>}
        </button>
      ))}
    </div>
  );
}

function moveBy(event: KeyboardEvent, onClose: (givesFocus: boolean) => void): void {
  const all = choices(event.currentTarget as HTMLElement);
  const at = all.indexOf(document.activeElement as HTMLButtonElement);
  const next = nextChoice(event.key, at, all);
  if (event.key === "Escape" || event.key === "Tab") onClose(true);
  if (event.key === "Tab" || (event.key !== "Escape" && !next)) return;
  event.preventDefault();
  event.stopPropagation();
  next?.focus();
}

function nextChoice(key: string, at: number, all: HTMLButtonElement[]): HTMLButtonElement | undefined {
  if (key === "ArrowDown") return all[(at + 1) % all.length];
  if (key === "ArrowUp") return all[(at - 1 + all.length) % all.length];
  if (key === "Home") return all[0];
  if (key === "End") return all.at(-1);
  if (key.length !== 1 || key === " ") return undefined;
  const startsWithKey = (one: HTMLButtonElement) => one.textContent?.trim().toLowerCase().startsWith(key.toLowerCase());
  return [...all.slice(at + 1), ...all.slice(0, at + 1)].find(startsWithKey);
}

function choices(list: HTMLElement): HTMLButtonElement[] {
  return [...list.querySelectorAll<HTMLButtonElement>(".menu-item:not(:disabled)")];
}

function placeBelow(list: HTMLElement, button: HTMLElement): void {
  const at = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = list;
  const isAbove = at.bottom + height + MARGIN_PX > innerHeight && at.top > innerHeight - at.bottom;
  list.style.left = `${Math.max(MARGIN_PX, Math.min(at.left, innerWidth - width - MARGIN_PX))}px`;
  list.style.top = `${Math.max(MARGIN_PX, isAbove ? at.top - height - 4 : Math.min(at.bottom + 4, innerHeight - height - MARGIN_PX))}px`;
}
