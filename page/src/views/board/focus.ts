// Arrow keys move between the cards of a board.

export function moveFocus(event: KeyboardEvent): void {
  const card = (event.target as Element).closest<HTMLElement>(".card");
  if (!card || (event.target as Element).closest("[role=menu]")) return;
  if (event.key === "m" && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    card.querySelector<HTMLElement>(".card-menu")?.click();
    return;
  }
  const next = findNext(card, event.key);
  if (!next) return;
  event.preventDefault();
  next.querySelector<HTMLElement>(".card-title")?.focus();
}

/** The card that had the focus, in its new column; the board if it is not to be seen there. */
export function findMoved(lost: Element): HTMLElement | null {
  const id = lost.closest<HTMLElement>(".card")?.dataset.task;
  if (!id) return null;
  return document.querySelector<HTMLElement>(`.card[data-task="${CSS.escape(id)}"] .card-title`) ?? document.querySelector<HTMLElement>(".board-columns");
}

function findNext(card: HTMLElement, key: string): HTMLElement | undefined {
  const column = card.closest<HTMLElement>(".board-column");
  if (!column) return undefined;
  const cards = cardsOf(column);
  const at = cards.indexOf(card);
  if (key === "ArrowDown") return cards[at + 1];
  if (key === "ArrowUp") return cards[at - 1];
  if (key !== "ArrowRight" && key !== "ArrowLeft") return undefined;
  const columns = [...(column.parentElement?.querySelectorAll<HTMLElement>(".board-column") ?? [])].filter((one) => cardsOf(one).length);
  const other = columns[columns.indexOf(column) + (key === "ArrowRight" ? 1 : -1)];
  return other && nearest(cardsOf(other), card.getBoundingClientRect().top);
}

/** The cards that are on the page, from the top. */
function cardsOf(column: HTMLElement): HTMLElement[] {
  const rowOf = (card: HTMLElement) => Number(card.closest<HTMLElement>("[data-row]")?.dataset.row);
  return [...column.querySelectorAll<HTMLElement>(".card")].sort((a, b) => rowOf(a) - rowOf(b));
}

function nearest(cards: HTMLElement[], top: number): HTMLElement | undefined {
  const distance = (card: HTMLElement) => Math.abs(card.getBoundingClientRect().top - top);
  return [...cards].sort((a, b) => distance(a) - distance(b))[0];
}
