// The entries of the log that are on the page: new ones come in at the top, older ones at the end.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, type ApiError } from "../../api/client";
import type { LogEntry, LogPage, LogQuery } from "../../api/types";
import { useAddress } from "../../router";
import { toApiError } from "../../state/errors";
import { onEvents } from "../../state/stream";

const PAGE_ENTRIES = 100;
/** Beyond this, the oldest entries are dropped; they are read again when somebody scrolls there. */
const MAX_ENTRIES = 4_000;
const REFRESH_DELAY_MS = 120;

interface Loaded {
  key: string;
  entries: LogEntry[];
  /** Where the next, older page begins; null at the end of the log. */
  before: number | null;
  newest: number;
}

export interface LogEntries {
  entries: readonly LogEntry[];
  isComplete: boolean;
  isLoading: boolean;
  error: ApiError | null;
  loadOlder: () => void;
  /** Reads what happened since. */
  loadNewer: () => void;
}

export function useLogEntries(filter: LogQuery, isPaused: boolean): LogEntries {
  const { project } = useAddress();
  const key = `${project} ${JSON.stringify(filter)}`;
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isLoading, setLoading] = useState(true);
  const state = useRef({ key, loaded, isBusy: false, isMissed: false, timer: 0 });
  state.current.key = key;

  async function ask(more: LogQuery, take: (page: LogPage, known: Loaded | null) => Loaded): Promise<void> {
    const current = state.current;
    if (current.isBusy) {
      current.isMissed = true;
      return;
    }
    current.isBusy = true;
    setLoading(true);
    try {
      const page = await api.read(project, "log", { limit: PAGE_ENTRIES, ...filter, ...more });
      if (current.key !== key) return;
      current.loaded = take(page, current.loaded?.key === key ? current.loaded : null);
      setLoaded(current.loaded);
      setError(null);
    } catch (problem) {
      if (current.key === key) setError(toApiError(problem));
    } finally {
      current.isBusy = false;
      setLoading(false);
    }
  }

  const restart = () => ask({}, (page) => ({ key, entries: page.entries, before: page.before, newest: page.newest }));
  const loadOlder = () => {
    const known = state.current.loaded;
    if (!known || known.key !== key || known.before === null || state.current.isBusy) return;
    void ask({ before: known.before }, (page, now) => ({ ...(now ?? known), entries: [...(now ?? known).entries, ...page.entries], before: page.before }));
  };
  const loadNewer = () => {
    const known = state.current.loaded;
    if (!known || known.key !== key) return void restart();
    void ask({ after: known.newest }, (page) => mergeNewer(known, page));
  };

  useEffect(() => {
    state.current.isBusy = false;
    void restart();
  }, [key]);
  useEffect(() => {
    if (isPaused) return undefined;
    const refresh = () => {
      clearTimeout(state.current.timer);
      state.current.timer = setTimeout(loadNewer, REFRESH_DELAY_MS);
    };
    if (state.current.loaded?.key === key) refresh(); // what happened while it was paused
    const stop = onEvents((changed) => (changed ?? project) === project && refresh());
    return () => {
      stop();
      clearTimeout(state.current.timer);
    };
  }, [key, isPaused]);
  useEffect(() => {
    if (isLoading || !state.current.isMissed) return;
    state.current.isMissed = false;
    loadNewer();
  }, [isLoading]);

  const shown = loaded?.key === key ? loaded : null;
  return { entries: shown?.entries ?? [], isComplete: shown !== null && shown.before === null, isLoading, error, loadOlder, loadNewer };
}

/** New entries at the top. If there were more than a page of them, or it is another log, the list begins again. */
function mergeNewer(known: Loaded, page: LogPage): Loaded {
  const isOther = page.newest < known.newest;
  if (page.before !== null || isOther) return { ...known, entries: page.entries, before: page.before ?? page.newest + 1, newest: page.newest };
  const entries = [...page.entries, ...known.entries];
  const kept = entries.slice(0, MAX_ENTRIES);
  const before = kept.length < entries.length ? (kept.at(-1)?.seq ?? known.before) : known.before;
  return { ...known, entries: kept, before, newest: page.newest };
}
