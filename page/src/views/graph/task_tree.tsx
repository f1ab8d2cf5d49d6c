// The graph as a list: below each task what it waits for, level by level. It says the same as the drawing.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { GraphNode, GraphPage } from "../../api/types";
import { Badge, StatusBadge } from "../../parts/badge";
import { WindowedList } from "../../parts/windowed_list";
import { taskAddress } from "../../router";

const ROW_PX = 40;

export interface TreeRow {
  node: GraphNode;
  /** 1 for a task that none waits for. */
  level: number;
  /** What it waits for was listed above. */
  isRepeated: boolean;
}

export function TaskTree({ page }: { page: GraphPage }): JSX.Element {
  const rows = useMemo(() => makeTree(page), [page]);
  return (
    <WindowedList
      class="task-tree"
      label="Tasks, and below each what it waits for"
      count={rows.length}
      keyOf={(index) => `${index} ${rows[index]?.node.id ?? ""}`}
      rowHeight={ROW_PX}
      renderRow={(index) => {
        const row = rows[index];
        return row && <TreeLine row={row} />;
      }}
    />
  );
}

function TreeLine({ row: { node, level, isRepeated } }: { row: TreeRow }): JSX.Element {
  return (
    <div class="tree-row" style={{ paddingInlineStart: `${Math.min(level, 12) * 1.25}rem` }}>
      <span class="sr-only">Level {level}:</span>
      <a href={taskAddress(node.id)} class="tree-title">
        {node.title}
      </a>
      <span class="tree-facts">
        {node.is_ready ? <Badge tone="good">Ready</Badge> : <StatusBadge status={node.status} />}
        {node.waits_for > 0 && <span class="muted">waits for {node.waits_for}</span>}
        {node.blocks > 0 && <span class="muted">blocks {node.blocks}</span>}
        {isRepeated && <span class="muted">what it waits for is above</span>}
        <span class="muted tree-id">{node.id}</span>
      </span>
    </div>
  );
}

/** A task under each that waits for it; what it waits for itself is listed only the first time. */
export function makeTree({ nodes, edges }: Pick<GraphPage, "nodes" | "edges">): TreeRow[] {
  const byId = new Map(nodes.map((node) => [node.id as string, node]));
  const below = new Map<string, string[]>();
  const isWaitedFor = new Set<string>();
  for (const [waiting, first] of edges) {
    below.set(waiting, [...(below.get(waiting) ?? []), first]);
    isWaitedFor.add(first);
  }
  const rows: TreeRow[] = [];
  const listed = new Set<string>();
  const list = (id: string, level: number): void => {
    const node = byId.get(id);
    if (!node) return;
    const parts = below.get(id) ?? [];
    const isRepeated = listed.has(id) && parts.length > 0;
    rows.push({ node, level, isRepeated });
    listed.add(id);
    if (!isRepeated) for (const part of parts) list(part, level + 1);
  };
  for (const node of nodes) if (!isWaitedFor.has(node.id)) list(node.id, 1);
  return rows;
}
