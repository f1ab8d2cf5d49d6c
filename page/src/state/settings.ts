// What a person prefers, kept in this browser.
import { Store } from "./store";

export interface PageSettings {
  theme: "system" | "light" | "dark" | "contrast";
  density: "comfortable" | "compact";
  notifies: boolean;
}

const STORAGE_KEY = "binnacle.settings";
const DEFAULTS: PageSettings = { theme: "system", density: "comfortable", notifies: false };

export const settings$ = new Store<PageSettings>(loadSettings());

const moreContrast = matchMedia("(prefers-contrast: more)");

export function changeSettings(changes: Partial<PageSettings>): void {
  settings$.update(changes);
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(settings$.state));
  } catch {
    // a browser that keeps nothing shows them until it is closed
  }
}

/** Shows the settings on the page now and whenever they change. */
export function applySettings(): void {
  const apply = () => {
    const { theme, density } = settings$.state;
    const root = document.documentElement;
    root.dataset.theme = theme === "system" && moreContrast.matches ? "contrast" : theme;
    root.dataset.density = density;
  };
  apply();
  settings$.subscribe(apply);
  moreContrast.addEventListener("change", apply);
}

function loadSettings(): PageSettings {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "{}");
    return { ...DEFAULTS, ...(kept as Partial<PageSettings>) };
  } catch {
    return DEFAULTS;
  }
}
