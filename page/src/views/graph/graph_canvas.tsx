// The graph to look at: dragging and arrow keys move, the wheel, two fingers and + and - zoom, a click opens a task.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { statusWords } from "../../parts/badge";
import { navigate, taskAddress } from "../../router";
import { useCommands } from "../../state/commands";
import { announce } from "../../state/messages";
import { drawGraph, readColours, taskAt, type Colours } from "./graph_drawing";
import { type GraphLayout, NODE_HEIGHT, NODE_WIDTH, nextTask, type PlacedTask } from "./graph_layout";
import { begin, fit, panBy, reveal, type Viewport, zoomAt } from "./viewport";

const KEY_PAN_PX = 80;
const KEY_ZOOM = 1.25;
/** A finger or mouse that moved less than this has clicked. */
const CLICK_PX = 5;

const ARROWS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export interface GraphCanvasProps {
  layout: GraphLayout;
  /** Another part of the graph is shown from its whole again. */
  part: string;
  /** The task to begin with, if one was asked about. */
  root: string;
}

export function GraphCanvas({ layout, part, root }: GraphCanvasProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const stage = useStage(canvas, layout, part, root);
  const zooms = [
    { title: "Zoom in", keys: "+", run: () => stage.zoom(KEY_ZOOM) },
    { title: "Zoom out", keys: "-", run: () => stage.zoom(1 / KEY_ZOOM) },
    { title: "All", keys: "0", run: stage.showAll },
  ];
  const focus = () => canvas.current?.focus();
  useCommands([
    ...zooms,
    { title: "Go from task to task", keys: "← ↑ → ↓", run: focus },
    { title: "Move the graph", keys: "Shift ← ↑ → ↓", run: focus },
  ].map((one) => ({ ...one, group: "Graph" })));
  return (
    <div class="graph-stage">
      <canvas
        ref={canvas}
        class="graph-canvas"
        tabIndex={0}
        role="application"
        aria-roledescription="graph"
        aria-label={`Graph of ${layout.tasks.length} tasks. Arrow keys go from task to task, Enter opens one. The list says the same.`}
        {...stage.handlers}
      />
      <div class="graph-zoom" role="group" aria-label="Zoom">
        {zooms.map(({ title, keys, run }) => (
          <button key={title} type="button" class="icon-button" aria-label={title} title={`${title} (${keys})`} onClick={run}>
            {keys === "0" ? title : keys}
          </button>
        ))}
      </div>
    </div>
  );
}

interface Pointer {
  x: number;
  y: number;
}

interface Stage {
  view: Viewport | null;
  marked: PlacedTask | null;
  colours: Colours | null;
  pointers: Map<number, Pointer>;
  moved: number;
  frame: number;
  width: number;
  height: number;
}

interface StageControls {
  handlers: {
    onPointerDown: (event: PointerEvent) => void;
    onPointerMove: (event: PointerEvent) => void;
    onPointerUp: (event: PointerEvent) => void;
    onPointerCancel: (event: PointerEvent) => void;
    onPointerLeave: () => void;
    onKeyDown: (event: KeyboardEvent) => void;
  };
  zoom: (factor: number) => void;
  showAll: () => void;
}

function useStage(canvas: { current: HTMLCanvasElement | null }, layout: GraphLayout, part: string, root: string): StageControls {
  const kept = useRef<Stage>({ view: null, marked: null, colours: null, pointers: new Map(), moved: 0, frame: 0, width: 0, height: 0 });
  const now = useRef(layout);
  now.current = layout;

  const draw = () => {
    const stage = kept.current;
    cancelAnimationFrame(stage.frame);
    stage.frame = requestAnimationFrame(() => {
      const context = canvas.current?.getContext("2d");
      if (!context || !canvas.current || !stage.view) return;
      stage.colours ??= readColours(canvas.current.parentElement ?? document.body);
      drawGraph(context, { layout: now.current, view: stage.view, width: stage.width, height: stage.height, colours: stage.colours, marked: stage.marked });
    });
  };
  const look = (view: Viewport) => {
    kept.current.view = view;
    draw();
  };
  const showAll = () => look(fit(kept.current.width, kept.current.height, now.current.width, now.current.height));
  const showFirst = () => {
    const { width, height } = kept.current;
    const { byId, width: graphWidth, height: graphHeight } = now.current;
    const first = byId.get(root) ?? null;
    kept.current.marked = first;
    look(begin(width, height, graphWidth, graphHeight));
    if (first) revealTask(first);
  };
  const mark = (task: PlacedTask | null) => {
    if (kept.current.marked === task) return;
    kept.current.marked = task;
    if (canvas.current) {
      canvas.current.style.cursor = task ? "pointer" : "";
      canvas.current.title = task ? task.node.title : "";
    }
    draw();
  };
  const revealTask = (task: PlacedTask) => {
    const { view, width, height } = kept.current;
    if (view) look(reveal(view, width, height, { x: task.x, y: task.y, width: NODE_WIDTH, height: NODE_HEIGHT }));
  };

  useLayoutEffect(() => {
    const element = canvas.current;
    if (!element) return undefined;
    const stage = kept.current;
    const resize = () => {
      const { clientWidth, clientHeight } = element;
      const ratio = devicePixelRatio || 1;
      element.width = Math.round(clientWidth * ratio);
      element.height = Math.round(clientHeight * ratio);
      [stage.width, stage.height] = [clientWidth, clientHeight];
      if (!stage.view && clientWidth > 0) showFirst();
      draw();
    };
    const observer = new ResizeObserver(resize);
    observer.observe(element);
    const zoomByWheel = (event: WheelEvent) => {
      event.preventDefault();
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      if (stage.view) look(zoomAt(stage.view, Math.exp(-event.deltaY * lines * 0.0018), event.offsetX, event.offsetY));
    };
    element.addEventListener("wheel", zoomByWheel, { passive: false });
    const forgetColours = () => {
      stage.colours = null;
      draw();
    };
    const theme = new MutationObserver(forgetColours);
    theme.observe(document.documentElement, { attributes: true });
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", forgetColours);
    return () => {
      observer.disconnect();
      theme.disconnect();
      scheme.removeEventListener("change", forgetColours);
      element.removeEventListener("wheel", zoomByWheel);
      cancelAnimationFrame(stage.frame);
    };
  }, []);
  useEffect(() => {
    if (kept.current.width > 0) showFirst();
  }, [part, root]);
  useEffect(() => {
    const known = kept.current.marked;
    kept.current.marked = known ? (layout.byId.get(known.node.id) ?? null) : null;
    draw();
  }, [layout]);

  const pointAt = (event: PointerEvent) => {
    const { view } = kept.current;
    return view ? taskAt(now.current, view, event.offsetX, event.offsetY) : null;
  };
  return {
    zoom: (factor) => kept.current.view && look(zoomAt(kept.current.view, factor, kept.current.width / 2, kept.current.height / 2)),
    showAll,
    handlers: {
      onPointerDown: (event) => {
        const stage = kept.current;
        canvas.current?.setPointerCapture(event.pointerId);
        if (stage.pointers.size === 0) stage.moved = 0;
        stage.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
      },
      onPointerMove: (event) => {
        const stage = kept.current;
        const before = stage.pointers.get(event.pointerId);
        if (!before) return mark(pointAt(event));
        if (stage.view) look(moveView(stage.view, stage.pointers, event, before));
        stage.moved += Math.abs(event.offsetX - before.x) + Math.abs(event.offsetY - before.y);
        stage.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
      },
      onPointerUp: (event) => {
        const stage = kept.current;
        const wasAlone = stage.pointers.size === 1;
        if (!stage.pointers.delete(event.pointerId) || !wasAlone || stage.moved > CLICK_PX) return;
        const task = pointAt(event);
        if (task) navigate(taskAddress(task.node.id));
      },
      onPointerCancel: (event) => void kept.current.pointers.delete(event.pointerId),
      onPointerLeave: () => {
        if (kept.current.pointers.size === 0) mark(null);
      },
      onKeyDown: (event) => {
        const stage = kept.current;
        const arrow = ARROWS[event.key];
        if (!stage.view || event.ctrlKey || event.metaKey || event.altKey) return;
        if (arrow && event.shiftKey) look(panBy(stage.view, -arrow[0] * KEY_PAN_PX, -arrow[1] * KEY_PAN_PX));
        else if (arrow) moveMark(arrow[0], arrow[1]);
        else if (event.key === "Enter" && stage.marked) navigate(taskAddress(stage.marked.node.id));
        else return;
        event.preventDefault();
        event.stopPropagation();
      },
    },
  };

  function moveMark(dx: number, dy: number): void {
    const { marked } = kept.current;
    const next = marked ? nextTask(now.current, marked, dx, dy) : (now.current.tasks[0] ?? null);
    if (!next) return;
    mark(next);
    revealTask(next);
    announce(describeTask(next));
  }
}

/** Moved by one finger, or zoomed and moved by two. */
function moveView(view: Viewport, pointers: ReadonlyMap<number, Pointer>, event: PointerEvent, before: Pointer): Viewport {
  const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
  const [dx, dy] = [event.offsetX - before.x, event.offsetY - before.y];
  if (!other) return panBy(view, dx, dy);
  const distance = Math.hypot(before.x - other.x, before.y - other.y);
  const factor = Math.hypot(event.offsetX - other.x, event.offsetY - other.y) / Math.max(1, distance);
  const middle = { x: (event.offsetX + other.x) / 2, y: (event.offsetY + other.y) / 2 };
  return panBy(zoomAt(view, factor, middle.x, middle.y), dx / 2, dy / 2);
}

function describeTask({ node }: PlacedTask): string {
  const waits = node.waits_for ? `, waits for ${node.waits_for}` : "";
  return `${node.title}, ${node.is_ready ? "ready" : statusWords(node.status)}${waits}${node.blocks ? `, blocks ${node.blocks}` : ""}`;
}
