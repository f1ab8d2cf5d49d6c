// The transcript of a session, loaded in windows. While the session runs and the page is seen, what is new is asked for.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { api, ApiError } from "../../api/client";
import type { PlacedEntry } from "../../api/types";

const POLL_MS = 250;
const MAX_ENTRIES = 8_000;

export interface LiveTranscript {
  entries: readonly PlacedEntry[];
  isLoaded: boolean;
  error: ApiError | null;
  /** Whether there is something before the first entry. */
  hasEarlier: boolean;
  loadEarlier: () => void;
}

interface Loaded {
  entries: PlacedEntry[];
  start: number;
  end: number;
}

const EMPTY: Loaded = { entries: [], start: 0, end: 0 };

/** Follows a transcript from its last window on; `isLive` says whether anything can come. */
export function useLiveTranscript(project: string, session: string, isLive: boolean): LiveTranscript {
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const latest = useRef<Loaded>(EMPTY);
  const keep = useCallback((next: Loaded) => {
    latest.current = next;
    setLoaded(next);
    setError(null);
  }, []);

  useEffect(() => {
    if (!session) return undefined;
    const stop = new AbortController();
    latest.current = EMPTY;
    setLoaded(null);
    api.read(project, "transcript", { session }, stop.signal).then(
      (window) => keep({ entries: window.entries, start: window.start, end: window.end }),
      (problem: unknown) => problem instanceof ApiError && setError(problem),
    );
    return () => stop.abort();
  }, [project, session]);

  const isLoaded = loaded !== null;
  useEffect(() => {
    if (!isLoaded) return undefined;
    const stop = new AbortController();
    let timer = 0;
    async function look(): Promise<void> {
      if (!document.hidden) {
        try {
          const window = await api.read(project, "transcript", { session, start: latest.current.end }, stop.signal);
          if (window.end > latest.current.end) keep(addLater(latest.current, window.entries, window.end));
        } catch (problem) {
          if (stop.signal.aborted) return;
          if (problem instanceof ApiError) setError(problem);
        }
      }
      if (isLive && !stop.signal.aborted) timer = setTimeout(() => void look(), POLL_MS);
    }
    void look(); // once more after the end of a run: what was written last
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [project, session, isLive, isLoaded]);

  const loadEarlier = useCallback(() => {
    const before = latest.current.start;
    api.read(project, "transcript", { session, before }).then(
      (window) => {
        if (latest.current.start !== before) return;
        keep({ ...latest.current, entries: [...window.entries, ...latest.current.entries], start: window.start });
      },
      (problem: unknown) => problem instanceof ApiError && setError(problem),
    );
  }, [project, session]);

  const { entries, start } = loaded ?? EMPTY;
  return { entries, isLoaded, error, hasEarlier: start > 0, loadEarlier };
}

/** Adds what is new at the end. Of a very long session, the beginning is left out again. */
function addLater(loaded: Loaded, later: readonly PlacedEntry[], end: number): Loaded {
  const entries = [...loaded.entries, ...later];
  const kept = entries.length > MAX_ENTRIES ? entries.slice(entries.length - MAX_ENTRIES) : entries;
  return { entries: kept, start: kept.length < entries.length ? kept[0]!.offset : loaded.start, end };
}
