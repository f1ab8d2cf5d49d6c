// One column of the board. Its first cards come with the board, others are read when they come into view.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { BoardCard as Card, BoardColumn as Column, BoardQuery, QueueTask } from "../../api/types";
import { statusWords } from "../../parts/badge";
import { WindowedList } from "../../parts/windowed_list";
import { useRead } from "../../state/read";
import type { MovableTask, Status } from "../task/moves";
import { BoardCard } from "./card";
import { CARD_ENTITIES } from "./card_entities";
import { dragged, readDragged } from "./dragging";

const PAGE_CARDS = 50;
const CARD_HEIGHT_PX = 108;

export interface BoardColumnProps {
  column: Column;
  asked: BoardQuery;
  steps: ReadonlyMap<string, string>;
  isReadonly: boolean;
  onMove: (task: MovableTask, status: Status) => void;
  onQueue: (asked: QueueTask) => void;
}

export function BoardColumn({ column, asked, steps, isReadonly, onMove, onQueue }: BoardColumnProps): JSX.Element {
  const { status, total, is_unproven } = column;
  const cardAt = useCards(column, asked);
  const [isTarget, setTarget] = useState(false);
  const name = is_unproven ? "Done, not proven" : statusWords(status);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setTarget(false);
    const task = readDragged();
    const below = (event.target as Element).closest<HTMLElement>("[data-task]")?.dataset.task;
    if (!task) return;
    if (task.status !== status) onMove(task, status);
    else if (status === "pending" && below !== task.id) onQueue({ id: task.id, place: below ?? "last" });
  };
  const over = (event: DragEvent) => {
    if (isReadonly || !dragged.task) return;
    event.preventDefault();
    setTarget(true);
  };
  const leave = (event: DragEvent) => {
    if (!(event.currentTarget as Element).contains(event.relatedTarget as Node | null)) setTarget(false);
  };
  return (
    <section
      class={`board-column ${total ? "" : "empty"} ${isTarget ? "target" : ""}`}
      data-status={status}
      aria-label={name}
      onDragOver={over}
      onDragLeave={leave}
      onDrop={drop}
    >
      <h2 class="column-head">
        {name} <span class="count">{total.toLocaleString()}</span>
      </h2>
      {total > 0 && (
        <WindowedList
          class="column-cards"
          label={`${name}, ${total}`}
          count={total}
          rowHeight={CARD_HEIGHT_PX}
          isFocusable={false}
          keyOf={(index) => cardAt.card(index)?.id ?? `${name} ${index}`}
          onRange={cardAt.show}
          renderRow={(index) => {
            const card = cardAt.card(index);
            return card ? (
              <BoardCard card={card} step={steps.get(card.id)} isReadonly={isReadonly} onMove={onMove} onQueue={onQueue} />
            ) : (
              <div class="card waiting" aria-hidden="true" />
            );
          }}
        />
      )}
    </section>
  );
}

/** The cards of a column by their place; undefined while they are read. */
function useCards(column: Column, asked: BoardQuery): { card: (index: number) => Card | undefined; show: (first: number, last: number) => void } {
  const [shown, setShown] = useState({ from: 0, isFirst: true });
  const more = useRead(
    "board_column",
    { ...asked, status: column.status, is_unproven: column.is_unproven, offset: shown.from, limit: 3 * PAGE_CARDS },
    { on: CARD_ENTITIES, skip: shown.isFirst },
  ).answer;
  const show = (first: number, last: number) => {
    const from = Math.max(0, Math.floor(first / PAGE_CARDS) - 1) * PAGE_CARDS;
    const isFirst = last < column.cards.length;
    if (from !== shown.from || isFirst !== shown.isFirst) setShown({ from, isFirst });
  };
  const card = (index: number) => column.cards[index] ?? (more && more.cards[index - more.offset]);
  return { card, show };
}
