// A long list of which only the visible rows are on the page. Rows may have any height; screen readers hear the real count.
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useMemo, useReducer, useRef } from "preact/hooks";
import { RowHeights } from "./row_heights";

export interface WindowedListProps {
  count: number;
  /** What a row is about; the same row keeps it when the list changes. */
  keyOf: (index: number) => string;
  renderRow: (index: number) => ComponentChildren;
  /** Height of a row in pixels: exact for fixed rows, a guess for others, which are measured. */
  rowHeight: number;
  isFixed?: boolean;
  /** What the list contains, for screen readers. */
  label: string;
  class?: string;
  /** Told which rows are shown, to load what is not there yet. */
  onRange?: (first: number, last: number) => void;
  /** Brings this row into view whenever it changes. */
  scrollTo?: number;
  /** Stays at the end while rows are added, if it was there. */
  followsEnd?: boolean;
  /** Shown above the rows and scrolled with them. */
  header?: ComponentChildren;
  /** Whether the list itself can have the focus; false if every row has something that can. */
  isFocusable?: boolean;
}

const MORE_ROWS_PX = 400;

export function WindowedList(props: WindowedListProps): JSX.Element {
  const { count, keyOf, rowHeight, isFixed = false, label, onRange, scrollTo, followsEnd = false } = props;
  const [, renderAgain] = useReducer((n: number) => n + 1, 0);
  const box = useRef<HTMLDivElement>(null);
  const wasAtEnd = useRef(true);
  const heights = useMemo(() => new RowHeights(), []);
  heights.prepare(count, rowHeight, isFixed ? null : keyOf);

  const top = (box.current?.scrollTop ?? 0) - MORE_ROWS_PX;
  const height = box.current?.clientHeight ?? 800;
  const first = heights.rowAt(Math.max(0, top));
  const last = Math.min(count - 1, heights.rowAt(top + height + 2 * MORE_ROWS_PX));
  const rows = new Set<number>();
  for (let index = first; index <= last; index++) rows.add(index);
  const focused = focusedRow(box.current);
  if (focused !== null && focused < count) rows.add(focused); // what has the focus stays on the page

  useLayoutEffect(() => onRange?.(first, last), [first, last, count]);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || scrollTo === undefined || scrollTo < 0 || scrollTo >= count) return;
    const [start, end] = [heights.topOf(scrollTo), heights.topOf(scrollTo + 1)];
    if (start < element.scrollTop) element.scrollTop = start;
    else if (end > element.scrollTop + element.clientHeight) element.scrollTop = end - element.clientHeight;
  }, [scrollTo]);
  useLayoutEffect(() => {
    const element = box.current;
    if (element && followsEnd && wasAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [count, followsEnd, heights.total]);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => renderAgain(0));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const measure = useMeasuredRows(box, heights, renderAgain);
  const onScroll = () => {
    const element = box.current;
    if (!element) return;
    wasAtEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - 24;
    renderAgain(0);
  };
  return (
    <div class={`windowed ${props.class ?? ""}`} ref={box} onScroll={onScroll} tabIndex={count && props.isFocusable !== false ? 0 : -1} role="group" aria-label={label}>
      {props.header}
      <div class="windowed-rows" role="list" aria-label={label} style={{ height: `${heights.total}px` }}>
        {[...rows].sort((a, b) => a - b).map((index) => (
          <div
            key={keyOf(index)}
            class="windowed-row"
            role="listitem"
            aria-setsize={count}
            aria-posinset={index + 1}
            data-row={index}
            ref={isFixed ? undefined : measure}
            style={{ transform: `translateY(${heights.topOf(index)}px)`, height: isFixed ? `${rowHeight}px` : "" }}
          >
            {props.renderRow(index)}
          </div>
        ))}
      </div>
    </div>
  );
}

/** Watches the heights of rows that are shown; what is above the visible part does not move it when it is measured. */
function useMeasuredRows(
  box: { current: HTMLDivElement | null },
  heights: RowHeights,
  renderAgain: (n: number) => void,
): (row: HTMLDivElement | null) => void {
  const observer = useRef<ResizeObserver | null>(null);
  useLayoutEffect(() => () => observer.current?.disconnect(), []);
  return useMemo(() => {
    const take = (entries: readonly ResizeObserverEntry[]) => {
      let moved = 0;
      let isChanged = false;
      for (const { target } of entries) {
        if (!target.isConnected) {
          observer.current?.unobserve(target);
          continue;
        }
        const row = target as HTMLElement;
        const index = Number(row.dataset.row);
        const change = heights.measure(index, row.offsetHeight);
        isChanged ||= change !== 0;
        if (box.current && heights.topOf(index) < box.current.scrollTop) moved += change;
      }
      if (!isChanged) return;
      if (box.current && moved) box.current.scrollTop += moved;
      renderAgain(0);
    };
    return (row: HTMLDivElement | null) => {
      if (!row) return;
      observer.current ??= new ResizeObserver(take);
      observer.current.observe(row);
    };
  }, []);
}

function focusedRow(box: HTMLElement | null): number | null {
  const active = document.activeElement;
  if (!box || !active || !box.contains(active)) return null;
  const row = active.closest<HTMLElement>("[data-row]");
  return row ? Number(row.dataset.row) : null;
}
