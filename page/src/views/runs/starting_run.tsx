// A run that was just started: goes to it when it is there, or shows what it printed and why it did not begin.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api, ApiError } from "../../api/client";
import type { StartedRun } from "../../api/types";
import { CodeText } from "../../parts/code_text";
import { ErrorNote } from "../../parts/notes";
import { formatAddress, navigate, useAddress } from "../../router";

const POLL_MS = 500;

export function StartingRun({ first, onAgain }: { first: StartedRun; onAgain: () => void }): JSX.Element {
  const { project } = useAddress();
  const [started, setStarted] = useState(first);
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    async function look(): Promise<void> {
      try {
        const found = await api.read(project, "started_run", { id: first.id }, stop.signal); // first: it may end meanwhile
        const { runs } = await api.read(project, "runs", { limit: 5 }, stop.signal);
        const since = Date.parse(first.started_at);
        const isSince = (at: string | null) => Date.parse(at ?? "") >= since;
        const run = runs.find(
          (one) => (first.name ? one.run.name === first.name : isSince(one.run.created_at)) && (one.driven > 0 || isSince(one.run.ended_at)),
        );
        if (run) return navigate({ view: "runs", rest: [run.run.id] }, { replace: true });
        setStarted(found);
        if (!found.is_alive) return undefined;
      } catch (problem) {
        if (!(problem instanceof ApiError)) return undefined;
      }
      timer = setTimeout(() => void look(), POLL_MS);
      return undefined;
    }
    void look();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [project, first.id]);
  return (
    <section class="start-run">
      <header class="view-head">
        <h1>{started.is_alive ? "The run is starting" : "The run did not begin"}</h1>
      </header>
      {started.is_alive && <p role="status">It is a process of its own, and goes on when this page is closed.</p>}
      {started.error && <ErrorNote error={{ message: started.error, hint: started.hint }} />}
      <CodeText text={started.command} label="Command" />
      {started.output && <CodeText text={started.output} label="What it printed" />}
      {!started.is_alive && (
        <div class="button-row">
          <button type="button" class="button primary" onClick={onAgain}>
            Change it and try again
          </button>
          <a class="button" href={formatAddress({ view: "runs" })}>
            All runs
          </a>
        </div>
      )}
    </section>
  );
}
