// A value that components can watch.
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";

export class Store<State> {
  #state: State;
  #listeners = new Set<() => void>();

  constructor(initial: State) {
    this.#state = initial;
  }

  get state(): State {
    return this.#state;
  }

  set(state: State): void {
    if (Object.is(state, this.#state)) return;
    this.#state = state;
    for (const listener of [...this.#listeners]) listener();
  }

  update(changes: Partial<State>): void {
    this.set({ ...this.#state, ...changes });
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** A part of a store's state; the component renders again when that part is another value. */
export function useStore<State, Part>(store: Store<State>, select: (state: State) => Part): Part {
  const [, renderAgain] = useReducer((count: number) => count + 1, 0);
  const part = select(store.state);
  const shown = useRef({ part, select });
  shown.current = { part, select };
  useLayoutEffect(() => {
    const check = () => {
      if (!Object.is(shown.current.select(store.state), shown.current.part)) renderAgain(0);
    };
    check(); // it may have changed between rendering and this
    return store.subscribe(check);
  }, [store]);
  return part;
}
