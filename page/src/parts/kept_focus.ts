// What had the focus may go away: it was decided, or moved by somebody else. The focus then stays near it.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

/** After a rendering that removed what had the focus, gives it to what `findNext` names. */
export function useKeptFocus(findNext: (lost: Element) => HTMLElement | null | undefined): void {
  const last = useRef<Element | null>(null);
  useEffect(() => {
    const note = () => {
      last.current = document.activeElement;
    };
    document.addEventListener("focusin", note);
    return () => document.removeEventListener("focusin", note);
  }, []);
  useLayoutEffect(() => {
    const lost = last.current;
    if (!lost || lost.isConnected || document.activeElement !== document.body) return;
    last.current = null;
    findNext(lost)?.focus({ preventScroll: true });
  });
}
