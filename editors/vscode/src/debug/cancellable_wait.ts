/** Waiting for a change: until something is so, a deadline passes, or nobody wants to know any more. */

export class TooLate extends Error {}

/** The caller wants no answer any more. */
export class Cancelled extends Error {}

export class Signal {
  private readonly waiting = new Set<() => void>();

  fire(): void {
    const woken = [...this.waiting];
    this.waiting.clear();
    for (const wake of woken) wake();
  }

  /** What `find` finds, asked again after every change. */
  async until<T>(find: () => T | undefined, milliseconds: number, cancelled?: AbortSignal): Promise<T> {
    const deadline = performance.now() + milliseconds;
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      let wake: () => void = () => {};
      const change = new Promise<void>((resolve) => {
        wake = resolve;
        this.waiting.add(resolve);
      });
      try {
        await within(change, deadline - performance.now(), cancelled);
      } finally {
        this.waiting.delete(wake);
      }
    }
  }
}

/** Waits for a promise and leaves it alone otherwise. */
export async function within<T>(promise: Promise<T>, milliseconds: number, cancelled?: AbortSignal): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let abort: () => void = () => {};
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TooLate()), Math.max(0, milliseconds));
    abort = () => reject(new Cancelled());
    if (cancelled?.aborted) abort();
    else cancelled?.addEventListener("abort", abort, { once: true });
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
    cancelled?.removeEventListener("abort", abort);
  }
}
