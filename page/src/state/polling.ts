// Asking again at intervals, for what no event tells of.
import { useEffect, useRef } from "preact/hooks";

/** Calls `ask` every so often while `isNeeded`, except while nobody sees the page. */
export function usePolling(ask: () => void, intervalMs: number, isNeeded: boolean): void {
  const latest = useRef(ask);
  latest.current = ask;
  useEffect(() => {
    if (!isNeeded) return undefined;
    const timer = setInterval(() => document.hidden || latest.current(), intervalMs);
    return () => clearInterval(timer);
  }, [isNeeded, intervalMs]);
}
