// The board: a column for each status. What is filtered is in the address.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { BoardQuery, QueueTask } from "../../api/types";
import { Icon } from "../../parts/icon";
import { useKeptFocus } from "../../parts/kept_focus";
import { EmptyView, ErrorNote, LoadingNote } from "../../parts/notes";
import { type Filters, useAddress } from "../../router";
import { useAction } from "../../state/action";
import { useCommands } from "../../state/commands";
import { useIsReadonly } from "../../state/projects";
import { useRead } from "../../state/read";
import { STATUS_ORDER, useTaskMoves } from "../task/moves";
import { AddTaskDialog } from "./add_task";
import { CARD_ENTITIES } from "./card_entities";
import { BoardColumn } from "./column";
import { BoardFilters } from "./filters";
import { findMoved, moveFocus } from "./focus";
import { useLatestSteps } from "./latest_steps";

export default function BoardView(): JSX.Element {
  const { filters } = useAddress();
  const asked = boardQuery(filters);
  const board = useRead("board", asked, { on: CARD_ENTITIES });
  const isReadonly = useIsReadonly();
  const { move, dialogs } = useTaskMoves(board.reload);
  const queue = useAction("queue_task");
  const [isAdding, setAdding] = useState(false);
  const searchField = useRef<HTMLDivElement>(null);
  const columns = board.answer?.columns ?? [];
  const steps = useLatestSteps(columns.some((one) => one.status === "in_progress" && one.total > 0));
  useCommands([
    ...(isReadonly ? [] : [{ title: "Add a task", group: "Board", keys: "n", run: () => setAdding(true) }]),
    { title: "Filter the board", group: "Board", keys: "f", run: () => searchField.current?.querySelector("input")?.focus() },
  ]);
  useEffect(() => {
    if (filters.add) setAdding(true);
  }, [filters.add]);
  const place = (question: QueueTask) => void queue.run(question).then(board.reload);
  useKeptFocus(findMoved);
  const isFiltered = Object.values(filters).some(Boolean);
  return (
    <div class="board">
      <header class="view-head">
        <h1>Board</h1>
        {!isReadonly && (
          <button type="button" class="button primary" onClick={() => setAdding(true)}>
            <Icon name="plus" />
            Add task
          </button>
        )}
      </header>
      <div ref={searchField}>
        <BoardFilters filters={filters} total={board.answer?.total} />
      </div>
      {board.error && <ErrorNote error={board.error} onRetry={board.reload} />}
      {!board.answer && !board.error && <LoadingNote />}
      {board.answer?.total === 0 && (
        <EmptyView title={isFiltered ? "No task matches these filters." : "There is no task yet."}>
          {isFiltered ? null : <p>Add one here, or let an agent plan a specification.</p>}
        </EmptyView>
      )}
      {board.answer && board.answer.total > 0 && (
        <div class="board-columns" tabIndex={-1} data-skip-target role="group" aria-label="Columns" onKeyDown={moveFocus}>
          {STATUS_ORDER.flatMap((status) => columns.filter((one) => one.status === status)).map((column) => (
            <BoardColumn
              key={`${column.status} ${column.is_unproven} ${JSON.stringify(asked)}`}
              column={column}
              asked={asked}
              steps={steps}
              isReadonly={isReadonly}
              onMove={move}
              onQueue={place}
            />
          ))}
        </div>
      )}
      {isAdding && <AddTaskDialog onClose={() => setAdding(false)} />}
      {dialogs}
    </div>
  );
}

function boardQuery(filters: Filters): BoardQuery {
  const { text, feature, discipline, agent, tag, level, priority } = filters;
  const query: BoardQuery = { text, feature, discipline, agent, tag };
  if (level) query.level = level as BoardQuery["level"];
  if (priority && /^[0-4]$/.test(priority)) query.priority = Number(priority);
  return query;
}
