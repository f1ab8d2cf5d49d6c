// Places tasks in layers: a task stands to the right of everything that it waits for.
// Layers are those of the longest path; within a layer, tasks are ordered by the middle of their neighbours (barycentre).
import type { GraphNode, GraphPage } from "../../api/types";

export const NODE_WIDTH = 196;
export const NODE_HEIGHT = 46;
const COLUMN_PX = 268;
const ROW_PX = 60;
const SWEEPS = 4;
const MIN_ROWS = 10;

export interface PlacedTask {
  node: GraphNode;
  x: number;
  y: number;
  level: number;
}

export interface GraphLayout {
  tasks: readonly PlacedTask[];
  /** Pairs of places: what comes first, and what waits for it. */
  edges: readonly (readonly [PlacedTask, PlacedTask])[];
  byId: ReadonlyMap<string, PlacedTask>;
  width: number;
  height: number;
}

export function layoutGraph(page: Pick<GraphPage, "nodes" | "edges">): GraphLayout {
  const tasks = page.nodes.map((node): PlacedTask => ({ node, x: 0, y: 0, level: 0 }));
  const byId = new Map(tasks.map((task) => [task.node.id as string, task]));
  const edges: [PlacedTask, PlacedTask][] = [];
  const before = new Map<PlacedTask, PlacedTask[]>(tasks.map((task) => [task, []]));
  const after = new Map<PlacedTask, PlacedTask[]>(tasks.map((task) => [task, []]));
  for (const [waiting, first] of page.edges) {
    const [left, right] = [byId.get(first), byId.get(waiting)];
    if (!left || !right) continue;
    edges.push([left, right]);
    before.get(right)?.push(left);
    after.get(left)?.push(right);
  }
  const layers = makeLayers(tasks, before, after);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const forward = sweep % 2 === 0;
    orderByNeighbours(forward ? layers : [...layers].reverse(), forward ? before : after);
  }
  const size = place(layers, tasks.length);
  return { tasks, edges, byId, ...size };
}

/** Layers by the longest path to a task that waits for none. The graph has no circles. */
function makeLayers(
  tasks: readonly PlacedTask[],
  before: ReadonlyMap<PlacedTask, readonly PlacedTask[]>,
  after: ReadonlyMap<PlacedTask, readonly PlacedTask[]>,
): PlacedTask[][] {
  const open = new Map(tasks.map((task) => [task, before.get(task)?.length ?? 0]));
  let frontier = tasks.filter((task) => open.get(task) === 0);
  const layers: PlacedTask[][] = [];
  while (frontier.length > 0) {
    const following: PlacedTask[] = [];
    for (const task of frontier) {
      task.level = layers.length;
      for (const next of after.get(task) ?? []) {
        const left = (open.get(next) ?? 1) - 1;
        open.set(next, left);
        if (left === 0) following.push(next);
      }
    }
    layers.push(frontier);
    frontier = following;
  }
  return layers;
}

function orderByNeighbours(layers: readonly PlacedTask[][], neighbours: ReadonlyMap<PlacedTask, readonly PlacedTask[]>): void {
  for (const layer of layers) {
    layer.forEach((task, at) => (task.y = at));
  }
  for (const layer of layers) {
    const middles = new Map(layer.map((task) => [task, middleOf(task, neighbours.get(task) ?? [])]));
    layer.sort((one, other) => (middles.get(one) ?? 0) - (middles.get(other) ?? 0));
    layer.forEach((task, at) => (task.y = at));
  }
}

function middleOf(task: PlacedTask, neighbours: readonly PlacedTask[]): number {
  if (neighbours.length === 0) return task.y;
  return neighbours.reduce((sum, one) => sum + one.y, 0) / neighbours.length;
}

/** Gives every task its place. A layer with very many tasks gets several columns, so that the whole can be seen. */
function place(layers: readonly PlacedTask[][], count: number): { width: number; height: number } {
  const rows = Math.max(MIN_ROWS, Math.ceil(Math.sqrt(count) * 1.6));
  const highest = Math.min(rows, Math.max(1, ...layers.map((layer) => layer.length)));
  let column = 0;
  for (const layer of layers) {
    const columns = Math.ceil(layer.length / rows);
    const perColumn = Math.ceil(layer.length / columns);
    const offset = ((highest - perColumn) * ROW_PX) / 2;
    layer.forEach((task, at) => {
      task.x = (column + Math.floor(at / perColumn)) * COLUMN_PX;
      task.y = offset + (at % perColumn) * ROW_PX;
    });
    column += columns;
  }
  return { width: Math.max(1, column) * COLUMN_PX - (COLUMN_PX - NODE_WIDTH), height: highest * ROW_PX };
}

/** The nearest task in a direction, for the arrow keys. */
export function nextTask(layout: GraphLayout, from: PlacedTask, dx: number, dy: number): PlacedTask | null {
  let best: PlacedTask | null = null;
  let bestCost = Infinity;
  for (const task of layout.tasks) {
    const along = (task.x - from.x) * dx + (task.y - from.y) * dy;
    const across = Math.abs((task.x - from.x) * dy + (task.y - from.y) * dx);
    if (task === from || along <= 0) continue;
    const cost = along + across * 3;
    if (cost < bestCost) [best, bestCost] = [task, cost];
  }
  return best;
}
