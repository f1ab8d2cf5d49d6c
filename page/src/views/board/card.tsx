// A task on the board: what it is, who works on it and what they did last, and how well it is known to be done.
import type { JSX } from "preact";
import type { BoardCard as Card, QueueTask } from "../../api/types";
import { Age } from "../../parts/age";
import { Badge, LevelBadge, PriorityBadge } from "../../parts/badge";
import { formatCost } from "../../parts/cost";
import { Icon } from "../../parts/icon";
import { splitHidden } from "../../parts/diff/visible_text";
import { Menu, type MenuItem } from "../../parts/menu";
import { taskAddress } from "../../router";
import { checks$ } from "../../state/checks";
import { useStore } from "../../state/store";
import { type MovableTask, moveItems, type Status } from "../task/moves";
import { endDragging, startDragging } from "./dragging";

export interface BoardCardProps {
  card: Card;
  /** What its agent did last. */
  step: string | undefined;
  isReadonly: boolean;
  onMove: (task: MovableTask, status: Status) => void;
  onQueue: (asked: QueueTask) => void;
}

const MEDIUM = 2;
const MAX_TAGS = 3;

export function BoardCard({ card, step, isReadonly, onMove, onQueue }: BoardCardProps): JSX.Element {
  const runs = useStore(checks$, (all) => all[card.id]?.isRunning ?? false);
  const cost = formatCost(card.cost);
  return (
    <article
      class={`card priority-${card.priority}`}
      data-task={card.id}
      draggable={!isReadonly}
      onDragStart={(event) => startDragging(event, card)}
      onDragEnd={endDragging}
    >
      <div class="card-head">
        <a class="card-title" href={taskAddress(card.id)} draggable={false}>
          {splitHidden(card.title)}
        </a>
        {!isReadonly && (
          <Menu class="icon-button card-menu" label={`Move ${card.title}`} items={cardItems(card, onMove, onQueue)}>
            <Icon name="more" />
          </Menu>
        )}
      </div>
      {(card.holder || step) && (
        <p class="card-step">
          {card.holder && <b>{card.holder}</b>} {step && splitHidden(step)}
        </p>
      )}
      <p class="card-facts">
        <span class="card-id">{card.id}</span>
        {card.priority !== MEDIUM && <PriorityBadge priority={card.priority} />}
        {card.kind !== "task" && <Badge tone="quiet">{card.kind}</Badge>}
        {runs && <Badge tone="info">checks run</Badge>}
        {card.questions > 0 && <Badge tone="warning">asks you</Badge>}
        {card.blocked_by > 0 && <Badge tone="quiet">waits for {card.blocked_by}</Badge>}
        {card.queue_position !== null && <Badge tone="info">in the queue</Badge>}
        <LevelBadge level={card.level} />
        {card.feature && <span class="card-feature">{card.feature}</span>}
        {card.tags.slice(0, MAX_TAGS).map((tag) => (
          <span key={tag} class="card-tag">
            #{tag}
          </span>
        ))}
        <span class="card-end">
          {cost && <span title={`${card.tokens.toLocaleString()} tokens`}>{cost}</span>}
          <Age at={card.since} />
        </span>
      </p>
    </article>
  );
}

/** The statuses, and the places in the queue. */
function cardItems(card: Card, onMove: BoardCardProps["onMove"], onQueue: BoardCardProps["onQueue"]): MenuItem[] {
  const items = moveItems(card, onMove);
  if (card.status === "done" || card.status === "cancelled") return items;
  const queue: MenuItem[] = [
    { title: "First in the queue", run: () => onQueue({ id: card.id, place: "first" }) },
    { title: "Last in the queue", run: () => onQueue({ id: card.id, place: "last" }) },
  ];
  if (card.queue_position !== null) queue.push({ title: "Out of the queue", run: () => onQueue({ id: card.id, place: "none" }) });
  return [...items, ...queue];
}
