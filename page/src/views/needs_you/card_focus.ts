// Moving between cards by keys.

/** Moves the focus to the heading of the next card, or the one before. */
export function focusCard(step: 1 | -1): void {
  const headings = [...document.querySelectorAll<HTMLElement>(".cause-card > header h2")];
  const at = headings.findIndex((one) => one.closest(".cause-card")?.contains(document.activeElement));
  const next = headings[at < 0 ? (step > 0 ? 0 : headings.length - 1) : at + step];
  next?.focus();
  next?.closest(".cause-card")?.scrollIntoView({ block: "nearest" });
}
