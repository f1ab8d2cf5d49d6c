// Whether something is in sight or nearly so. What is not is left out of the page, at the height that it had.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

type Listener = (isNear: boolean) => void;

interface Watch {
  observer: IntersectionObserver;
  listeners: Map<Element, Listener>;
}

const watches = new Map<string, WeakMap<object, Watch>>();

/** The nearest element around one that scrolls; null for the window. */
function findScroller(element: Element): Element | null {
  for (let one = element.parentElement; one; one = one.parentElement) {
    const { overflowY } = getComputedStyle(one);
    if (overflowY === "auto" || overflowY === "scroll") return one;
  }
  return null;
}

function watch(element: Element, margin: string, listener: Listener): () => void {
  const root = findScroller(element);
  const ofMargin = watches.get(margin) ?? new WeakMap<object, Watch>();
  watches.set(margin, ofMargin);
  const known = ofMargin.get(root ?? document) ?? makeWatch(root, margin);
  ofMargin.set(root ?? document, known);
  known.listeners.set(element, listener);
  known.observer.observe(element);
  return () => {
    known.listeners.delete(element);
    known.observer.unobserve(element);
  };
}

function makeWatch(root: Element | null, margin: string): Watch {
  const listeners = new Map<Element, Listener>();
  const observer = new IntersectionObserver(
    (entries) => entries.forEach((one) => listeners.get(one.target)?.(one.isIntersecting)),
    { root, rootMargin: margin },
  );
  return { observer, listeners };
}

export interface NearState<Kind extends Element> {
  ref: { current: Kind | null };
  isNear: boolean;
  /** How high it was when it was last shown; undefined before that. */
  height: number | undefined;
}

/** Follows whether an element is near. It stays near while the focus or an open form is in it. */
export function useNear<Kind extends HTMLElement>(margin: string): NearState<Kind> {
  const ref = useRef<Kind>(null);
  const height = useRef<number | undefined>(undefined);
  const [isNear, setNear] = useState(false);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    return watch(element, margin, (isIn) => {
      if (!isIn && isInUse(element)) return;
      if (!isIn) height.current = element.getBoundingClientRect().height;
      setNear(isIn);
    });
  }, [margin]);
  return { ref, isNear, height: height.current };
}

function isInUse(element: Element): boolean {
  return element.contains(document.activeElement) || element.querySelector("form") !== null;
}
