// Addresses of the page: /<project>/<view>/<rest…>?filters. Every view and every state worth sharing has one.
import { useStore, Store } from "./state/store";

export type Filters = Readonly<Record<string, string>>;

export interface Address {
  project: string;
  view: string;
  /** What follows the view, such as the id of a task. */
  rest: readonly string[];
  filters: Filters;
}

export const FIRST_VIEW = "needs_you";

export function parseAddress(location: { pathname: string; search: string }): Address {
  const [project = "", view = FIRST_VIEW, ...rest] = location.pathname.split("/").filter(Boolean).map(decodePart);
  return { project, view, rest, filters: Object.fromEntries(new URLSearchParams(location.search)) };
}

export function formatAddress(address: Partial<Address>): string {
  const { project = address$.state.project, view = FIRST_VIEW, rest = [], filters = {} } = address;
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== "")).toString();
  return "/" + [project, view, ...rest].map(encodeURIComponent).join("/") + (query ? `?${query}` : "");
}

const address$ = new Store<Address>(parseAddress(location));

/** The address that the page shows now. Use `useAddress` in components. */
export const currentAddress = (): Address => address$.state;
export const useAddress = (): Address => useStore(address$, (address) => address);

export function navigate(to: Partial<Address> | string, { replace = false } = {}): void {
  const target = typeof to === "string" ? to : formatAddress(to);
  if (target === location.pathname + location.search) return;
  if (replace) history.replaceState(null, "", target);
  else history.pushState(null, "", target);
  address$.set(parseAddress(location));
}

/** Changes filters of this view and keeps the others; an empty value removes one. */
export function setFilters(changes: Filters, { replace = true } = {}): void {
  const address = address$.state;
  navigate({ ...address, filters: { ...address.filters, ...changes } }, { replace });
}

export function taskAddress(id: string): string {
  return formatAddress({ view: "task", rest: [id] });
}

/** Follows the browser's own moves, and makes plain links within the page navigate without a reload. */
export function startRouter(): void {
  addEventListener("popstate", () => address$.set(parseAddress(location)));
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest("a");
    if (!link || link.target || link.origin !== location.origin || link.hasAttribute("download")) return;
    if (link.pathname.startsWith("/api/") || link.getAttribute("href")?.startsWith("#")) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
