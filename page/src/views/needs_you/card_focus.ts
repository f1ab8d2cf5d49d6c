// Moving between cards by keys, and where the focus goes when a card goes away.

const HEADINGS = ".cause-card > header h2";

/** What is now where a card was that is gone: the heading of the next card, or that of the view. */
export function findFollowing(lost: Element, before: readonly string[]): HTMLElement | null | undefined {
  const id = lost.closest(".cause-card")?.getAttribute("aria-labelledby");
  if (!id) return null;
  const headings = [...document.querySelectorAll<HTMLElement>(HEADINGS)];
  return headings[Math.min(before.indexOf(id), headings.length - 1)] ?? document.querySelector<HTMLElement>(".needs-you h1");
}

export function listHeadings(): string[] {
  return [...document.querySelectorAll(HEADINGS)].map((one) => one.id);
}

/** Moves the focus to the heading of the next card, or the one before. */
export function focusCard(step: 1 | -1): void {
  const headings = [...document.querySelectorAll<HTMLElement>(HEADINGS)];
  const at = headings.findIndex((one) => one.closest(".cause-card")?.contains(document.activeElement));
  const next = headings[at < 0 ? (step > 0 ? 0 : headings.length - 1) : at + step];
  next?.focus();
  next?.closest(".cause-card")?.scrollIntoView({ block: "nearest" });
}
