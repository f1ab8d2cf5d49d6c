// Draws what is visible of a graph on a canvas.
import { statusWords } from "../../parts/badge";
import { type GraphLayout, NODE_HEIGHT, NODE_WIDTH, type PlacedTask } from "./graph_layout";
import type { Viewport } from "./viewport";

const COLOURS = {
  surface: "--surface",
  line: "--line-strong",
  faint: "--line",
  text: "--text",
  muted: "--muted",
  accent: "--accent",
  accentGround: "--accent-ground",
  good: "--good",
  goodGround: "--good-ground",
  warning: "--warning",
  warningGround: "--warning-ground",
  bad: "--bad",
  badGround: "--bad-ground",
  sunken: "--sunken",
} as const;

export type Colours = Record<keyof typeof COLOURS, string> & { font: string };

/** Below this size, words cannot be read and are left out. */
const MIN_TEXT_SCALE = 0.42;
/** Edges are many, and less important than tasks. */
const EDGE_ALPHA = 0.45;
const RADIUS = 7;
const PADDING = 10;

/** The colours of the theme as the canvas understands them. */
export function readColours(element: HTMLElement): Colours {
  const probe = document.createElement("span");
  element.append(probe);
  const found: Record<string, string> = {};
  for (const [name, token] of Object.entries(COLOURS)) {
    probe.style.color = `var(${token})`;
    found[name] = getComputedStyle(probe).color;
  }
  const font = getComputedStyle(element).fontFamily;
  probe.remove();
  return { ...(found as Record<keyof typeof COLOURS, string>), font };
}

export interface Drawn {
  layout: GraphLayout;
  view: Viewport;
  width: number;
  height: number;
  colours: Colours;
  /** The task that is pointed at or chosen by keys; its dependencies stand out. */
  marked: PlacedTask | null;
}

export function drawGraph(context: CanvasRenderingContext2D, drawn: Drawn): void {
  const { view, width, height, layout } = drawn;
  const ratio = devicePixelRatio || 1;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.translate(view.x, view.y);
  context.scale(view.scale, view.scale);
  const seen = {
    left: -view.x / view.scale,
    top: -view.y / view.scale,
    right: (width - view.x) / view.scale,
    bottom: (height - view.y) / view.scale,
  };
  drawEdges(context, drawn, seen);
  const isReadable = view.scale >= MIN_TEXT_SCALE;
  for (const task of layout.tasks) {
    if (task.x > seen.right || task.x + NODE_WIDTH < seen.left || task.y > seen.bottom || task.y + NODE_HEIGHT < seen.top) continue;
    drawTask(context, task, drawn, isReadable);
  }
}

interface Area {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

function drawEdges(context: CanvasRenderingContext2D, { layout, view, colours, marked }: Drawn, seen: Area): void {
  const strong: (readonly [PlacedTask, PlacedTask])[] = [];
  context.lineWidth = Math.max(1, 0.7 / view.scale);
  context.strokeStyle = colours.line;
  context.globalAlpha = EDGE_ALPHA;
  context.beginPath();
  for (const edge of layout.edges) {
    const [from, to] = edge;
    if (from.x > seen.right || to.x + NODE_WIDTH < seen.left) continue;
    if (Math.min(from.y, to.y) > seen.bottom || Math.max(from.y, to.y) + NODE_HEIGHT < seen.top) continue;
    if (from === marked || to === marked) strong.push(edge);
    else traceEdge(context, from, to);
  }
  context.stroke();
  context.globalAlpha = 1;
  context.strokeStyle = colours.accent;
  context.lineWidth = Math.max(1.6, 1.2 / view.scale);
  context.beginPath();
  for (const [from, to] of strong) traceEdge(context, from, to);
  context.stroke();
}

function traceEdge(context: CanvasRenderingContext2D, from: PlacedTask, to: PlacedTask): void {
  const [x1, y1, x2, y2] = [from.x + NODE_WIDTH, from.y + NODE_HEIGHT / 2, to.x, to.y + NODE_HEIGHT / 2];
  const bend = Math.max(24, (x2 - x1) / 2);
  context.moveTo(x1, y1);
  context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
}

function drawTask(context: CanvasRenderingContext2D, task: PlacedTask, { colours, marked, view }: Drawn, isReadable: boolean): void {
  const { node, x, y } = task;
  const [ground, line] = coloursOf(task, colours);
  const isMarked = task === marked;
  context.beginPath();
  context.roundRect(x, y, NODE_WIDTH, NODE_HEIGHT, RADIUS);
  context.fillStyle = isReadable ? ground : line; // from far away, tasks are seen by their colour
  context.fill();
  context.lineWidth = isMarked ? Math.max(2.5, 2 / view.scale) : node.is_ready ? 2 : 1;
  context.strokeStyle = isMarked ? colours.accent : line;
  context.stroke();
  if (!isReadable) return;
  context.textBaseline = "top";
  context.fillStyle = node.status === "cancelled" ? colours.muted : colours.text;
  context.font = `550 12.5px ${colours.font}`;
  context.fillText(shorten(context, node.title, NODE_WIDTH - 2 * PADDING), x + PADDING, y + 7);
  context.fillStyle = colours.muted;
  context.font = `11px ${colours.font}`;
  context.fillText(describe(task), x + PADDING, y + 26, NODE_WIDTH - 2 * PADDING);
}

function coloursOf({ node }: PlacedTask, colours: Colours): readonly [string, string] {
  switch (node.status) {
    case "done":
      return [colours.goodGround, colours.goodGround];
    case "cancelled":
    case "draft":
      return [colours.sunken, colours.faint];
    case "blocked":
      return [colours.badGround, colours.bad];
    case "needs_input":
    case "partial":
      return [colours.warningGround, colours.warning];
    case "in_progress":
    case "in_review":
      return [colours.accentGround, colours.accent];
    default:
      return [colours.surface, node.is_ready ? colours.good : colours.line];
  }
}

function describe({ node }: PlacedTask): string {
  const state = node.is_ready ? "Ready" : statusWords(node.status);
  return [node.id, state, node.blocks > 0 ? `blocks ${node.blocks}` : ""].filter(Boolean).join(" · ");
}

const widths = new Map<string, string>();

/** The beginning of a text that fits; measured once for each text. */
function shorten(context: CanvasRenderingContext2D, text: string, width: number): string {
  const known = widths.get(text);
  if (known !== undefined) return known;
  let shown = text;
  let length = text.length;
  for (let wide; (wide = context.measureText(shown).width) > width && length > 0; ) {
    length = Math.min(length - 1, Math.floor((length * width) / wide));
    shown = `${text.slice(0, length)}…`;
  }
  if (widths.size > 10_000) widths.clear();
  widths.set(text, shown);
  return shown;
}

export function taskAt(layout: GraphLayout, view: Viewport, screenX: number, screenY: number): PlacedTask | null {
  const x = (screenX - view.x) / view.scale;
  const y = (screenY - view.y) / view.scale;
  return layout.tasks.find((task) => x >= task.x && x <= task.x + NODE_WIDTH && y >= task.y && y <= task.y + NODE_HEIGHT) ?? null;
}
