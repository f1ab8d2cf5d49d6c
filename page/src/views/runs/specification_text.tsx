// What a run was asked for.
import type { JSX } from "preact";
import { Markdown } from "../../parts/markdown";
import { ErrorNote, LoadingNote } from "../../parts/notes";
import { useRead } from "../../state/read";

export function SpecificationText({ run }: { run: string }): JSX.Element {
  const { answer, error, reload } = useRead("run_specification", { run }, { on: ["run"] });
  if (!answer) return error ? <ErrorNote error={error} onRetry={reload} /> : <LoadingNote />;
  return (
    <article class="card-box specification">
      {answer.file && <p class="muted">{answer.file}</p>}
      <Markdown text={answer.text} />
      {answer.text.length < answer.total && <p class="muted">The rest of {answer.total.toLocaleString()} characters is in the file.</p>}
    </article>
  );
}
