// Which part of the graph is seen, and how large.

export interface Viewport {
  /** Where the graph's own origin is on the screen, in pixels. */
  x: number;
  y: number;
  scale: number;
}

export const MIN_SCALE = 0.04;
export const MAX_SCALE = 2.5;
const MARGIN_PX = 28;
/** Titles can be read with ease at this size. */
const MIN_FIRST_SCALE = 0.9;
/** The whole graph is not made larger than this to fill the space. */
const MAX_FIT_SCALE = 1;

export function zoomAt(view: Viewport, factor: number, x: number, y: number): Viewport {
  const scale = Math.min(MAX_SCALE, Math.max(MIN_SCALE, view.scale * factor));
  const change = scale / view.scale;
  return { scale, x: x - (x - view.x) * change, y: y - (y - view.y) * change };
}

export function panBy(view: Viewport, dx: number, dy: number): Viewport {
  return { ...view, x: view.x + dx, y: view.y + dy };
}

/** Shows everything. */
export function fit(width: number, height: number, graphWidth: number, graphHeight: number): Viewport {
  const wanted = Math.min((width - 2 * MARGIN_PX) / graphWidth, (height - 2 * MARGIN_PX) / graphHeight, MAX_FIT_SCALE);
  const scale = Math.max(MIN_SCALE, wanted);
  return { scale, x: (width - graphWidth * scale) / 2, y: (height - graphHeight * scale) / 2 };
}

/** Where to begin: everything if it can be read then, otherwise the beginning of the graph. */
export function begin(width: number, height: number, graphWidth: number, graphHeight: number): Viewport {
  const whole = fit(width, height, graphWidth, graphHeight);
  if (whole.scale >= MIN_FIRST_SCALE) return whole;
  const y = (height - graphHeight * MIN_FIRST_SCALE) / 2;
  return { scale: MIN_FIRST_SCALE, x: MARGIN_PX, y: Math.max(y, MARGIN_PX) };
}

/** Moves no more than needed to show a box of the graph. */
export function reveal(view: Viewport, width: number, height: number, box: { x: number; y: number; width: number; height: number }): Viewport {
  const left = box.x * view.scale + view.x;
  const top = box.y * view.scale + view.y;
  const right = left + box.width * view.scale;
  const bottom = top + box.height * view.scale;
  const dx = left < MARGIN_PX ? MARGIN_PX - left : Math.min(0, width - MARGIN_PX - right);
  const dy = top < MARGIN_PX ? MARGIN_PX - top : Math.min(0, height - MARGIN_PX - bottom);
  return dx || dy ? panBy(view, dx, dy) : view;
}
