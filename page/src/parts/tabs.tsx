// Several panels of which one is shown. Arrow keys move between the tabs.
import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

export interface Tab {
  name: string;
  title: string;
  count?: number;
}

export interface TabsProps {
  label: string;
  tabs: readonly Tab[];
  /** The name of the tab that is shown; it usually comes from the address. */
  chosen: string;
  onChoose: (name: string) => void;
  /** The panel of the chosen tab. */
  children: ComponentChildren;
}

export function Tabs({ label, tabs, chosen, onChoose, children }: TabsProps): JSX.Element {
  const id = useId();
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const at = tabs.findIndex((tab) => tab.name === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (!next) return;
    event.preventDefault();
    onChoose(next.name);
    document.getElementById(`${id}-${next.name}`)?.focus();
  };
  return (
    <div class="tabs">
      <div class="tab-list" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab.name}
            id={`${id}-${tab.name}`}
            type="button"
            class="tab"
            role="tab"
            aria-selected={tab.name === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={tab.name === chosen ? 0 : -1}
            onClick={() => onChoose(tab.name)}
          >
            {tab.title}
            {tab.count !== undefined && <span class="count">{tab.count}</span>}
          </button>
        ))}
      </div>
      <div class="tab-panel" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${chosen}`}>
        {children}
      </div>
    </div>
  );
}
