// Moving through the code of a change by keys: from one changed place to the next, from file to file, to a line.
// What is far away is not in the page, so going there means to go near it, and then to look again.

const RETRY_MS = 50;
const MAX_RETRIES = 40;
/** The head of a file stays in sight above its lines. */
const HEAD_PIXELS = 60;

function content(): HTMLElement {
  return document.getElementById("content") ?? document.body;
}

/** Scrolls the content, or everything where that is zoomed in so far that it scrolls together. */
function scrollBy(top: number): void {
  (getComputedStyle(content()).overflowY === "visible" ? window : content()).scrollBy({ top });
}

/** How far below the upper edge of what is seen a height of the window is. */
function below(top: number): number {
  return top - Math.max(0, content().getBoundingClientRect().top) - HEAD_PIXELS;
}

function topOf(element: Element): number {
  return below(element.getBoundingClientRect().top);
}

function goTo(element: HTMLElement): void {
  scrollBy(topOf(element));
  element.focus({ preventScroll: true });
}

/** The place from which keys move: what has the focus in the code, or the upper edge of what is seen. */
function startOf(step: 1 | -1): number {
  const focused = document.activeElement?.closest("tr, .file-section");
  return focused && content().contains(focused) ? topOf(focused) + step : step > 0 ? -1 : 1;
}

const PLACES = [".diff-hunk", ".diff-gap", ".loading-note"].map((one) => `.review-code ${one}`).join();

export function goToHunk(step: 1 | -1, retries = MAX_RETRIES, start = startOf(step)): void {
  const places = [...document.querySelectorAll<HTMLElement>(PLACES)].filter((one) => one.getClientRects().length > 0);
  const ahead = step > 0 ? places.filter((one) => topOf(one) > start) : places.filter((one) => topOf(one) < start).reverse();
  const next = ahead[0];
  if (!next) return;
  if (next.matches(".diff-hunk")) return goTo(next);
  scrollBy(step > 0 ? topOf(next) : below(next.getBoundingClientRect().bottom));
  const left = next.matches(".loading-note") ? retries : retries - 1;
  if (left > 0) setTimeout(() => goToHunk(step, left, step > 0 ? -HEAD_PIXELS : HEAD_PIXELS), RETRY_MS);
}

export function goToFile(step: 1 | -1): void {
  const sections = [...document.querySelectorAll<HTMLElement>(".file-section")];
  const focused = document.activeElement?.closest<HTMLElement>(".file-section");
  const seen = sections.findLastIndex((one) => topOf(one) + HEAD_PIXELS <= 1);
  const at = focused ? sections.indexOf(focused) : seen;
  const next = sections[at + step];
  if (next) goToSection(next);
}

function goToSection(section: HTMLElement, retries = 3): void {
  section.scrollIntoView({ block: "start" });
  section.focus({ preventScroll: true });
  // What comes into sight on the way gets its real height, which moves the section.
  if (retries > 0) setTimeout(() => document.activeElement === section && goToSection(section, retries - 1), RETRY_MS);
}

function findSection(path: string): HTMLElement | undefined {
  return [...document.querySelectorAll<HTMLElement>(".file-section")].find((one) => one.dataset.path === path);
}

export function showFile(path: string): void {
  waitFor(() => findSection(path), goToSection);
}

/** Shows the line of a file, as far as the difference has it. */
export function showLine(path: string, line: number): void {
  waitFor(() => findSection(path), (section) => {
    goToSection(section);
    if (line) setTimeout(() => waitFor(() => section.querySelector<HTMLElement>(`tr[data-line="${line}"]:not(.diff-hunk)`), goTo), 4 * RETRY_MS);
  });
}

/** Goes on when what is still loaded is there. */
function waitFor(find: () => HTMLElement | null | undefined, go: (found: HTMLElement) => void, retries = MAX_RETRIES): void {
  const found = find();
  if (found) go(found);
  else if (retries > 0) setTimeout(() => waitFor(find, go, retries - 1), RETRY_MS);
}

/** Opens the form for a comment on the line that has the focus, or on the first that is seen. */
export function startComment(): void {
  const focused = document.activeElement?.closest("tr");
  const rows = [...document.querySelectorAll<HTMLElement>(".review-code table.diff tr")];
  const from = focused ? rows.indexOf(focused as HTMLElement) : rows.findIndex((one) => topOf(one) > -HEAD_PIXELS);
  const row = rows.slice(Math.max(0, from)).find((one) => one.querySelector(".diff-number button"));
  row?.querySelector<HTMLButtonElement>(".diff-number button")?.click();
}

/** Moves the focus to the next line of code, or the one before. */
export function moveLine(event: KeyboardEvent): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const row = event.target instanceof HTMLElement && event.target.matches("tr") ? event.target : null;
  if (!row) return;
  const rows = [...document.querySelectorAll<HTMLElement>(".review-code table.diff tbody:not(.diff-gap) > tr[tabindex]")];
  const next = rows[rows.indexOf(row) + (event.key === "ArrowDown" ? 1 : -1)];
  if (!next) return;
  event.preventDefault();
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}
