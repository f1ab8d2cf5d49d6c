// The code of a change: since when it is compared, which files differ, and each of them.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ReviewFiles, ShownRemark } from "../../api/types";
import type { DiffLayout } from "../../parts/diff/diff_rows";
import { splitHidden } from "../../parts/diff/visible_text";
import { ErrorNote, LoadingNote } from "../../parts/notes";
import { setFilters } from "../../router";
import { useCommands } from "../../state/commands";
import { useRead } from "../../state/read";
import { goToFile, goToHunk, moveLine, startComment } from "./code_places";
import { FileNavigation } from "./file_navigation";
import { FileSection } from "./file_section";
import type { KeptFiles } from "./kept_files";
import { RemarkAdder } from "./remark_adder";

export interface ChangeCodeProps {
  query: { subject?: string; run?: string; since: string };
  hasPrevious: boolean;
  remarks: readonly ShownRemark[];
  viewer: string;
  /** The open review that lines can be commented in; empty if there is none. */
  reviewId: string;
  kept?: KeptFiles | undefined;
  /** Told which lines comments belong to in the commit that is shown, by the ids of the comments. */
  onPlaces?: (places: Readonly<Record<string, number>>) => void;
  onChanged: () => void;
}

const MAX_FILES = 200;
const WIDE = "(min-width: 75rem)";

export function ChangeCode(props: ChangeCodeProps): JSX.Element {
  const { query, hasPrevious, onPlaces } = props;
  const [count, setCount] = useState(MAX_FILES);
  const { answer, error, reload, isPrevious } = useRead("review_files", { ...query, limit: count }, { on: ["review", "review_remark"] });
  useEffect(() => answer && onPlaces?.(answer.places), [answer]);
  const isWide = useMatches(WIDE);
  const [isSplit, setSplit] = useState(() => localStorage.getItem("binnacle.diff") === "split");
  const chooseLayout = (value: boolean) => {
    setSplit(value);
    localStorage.setItem("binnacle.diff", value ? "split" : "unified");
  };
  useCommands([
    { title: "Next changed place", group: "Review", keys: "j", run: () => goToHunk(1) },
    { title: "Previous changed place", group: "Review", keys: "k", run: () => goToHunk(-1) },
    { title: "Next file", group: "Review", keys: "n", run: () => goToFile(1) },
    { title: "Previous file", group: "Review", keys: "p", run: () => goToFile(-1) },
    { title: "Comment on this line", group: "Review", keys: "c", run: startComment },
  ]);
  return (
    <section class="review-code" aria-labelledby="code-title" onKeyDown={moveLine}>
      <div class="code-head">
        <h2 id="code-title">Code</h2>
        {answer && !answer.problem && <CodeFacts files={answer} />}
        <label class="since-choice">
          <span class="muted">Since</span>{" "}
          <select value={query.since} onChange={(event) => setFilters({ since: event.currentTarget.value === "base" ? "" : event.currentTarget.value })}>
            <option value="base">its base</option>
            {(hasPrevious || query.since === "review") && <option value="review">the last review</option>}
            {query.since !== "base" && query.since !== "review" && <option value={query.since}>{query.since.slice(0, 12)}</option>}
          </select>
        </label>
        {isWide && (
          <button type="button" class="button" aria-pressed={isSplit} onClick={() => chooseLayout(!isSplit)}>
            Side by side
          </button>
        )}
      </div>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!answer && !error && <LoadingNote />}
      {answer?.problem && <ErrorNote error={{ message: `The code cannot be shown: ${answer.problem}`, hint: "Everything else about the change is above." }} />}
      {answer && !answer.problem && (
        <FileList {...props} files={answer} layout={isWide && isSplit ? "split" : "unified"} isPrevious={isPrevious} onMore={() => setCount(count + MAX_FILES)} />
      )}
    </section>
  );
}

function CodeFacts({ files }: { files: ReviewFiles }): JSX.Element {
  const total = files.total + files.left_out;
  return (
    <p class="muted">
      {splitHidden(files.since)}: {total === 1 ? "1 file" : `${total} files`}, <span class="added-count">+{files.added}</span> <span class="removed-count">−{files.removed}</span>
    </p>
  );
}

interface FileListProps extends ChangeCodeProps {
  files: ReviewFiles;
  layout: DiffLayout;
  isPrevious: boolean;
  onMore: () => void;
}

function FileList(props: FileListProps): JSX.Element {
  const { files, remarks, kept } = props;
  if (files.files.length === 0) return <p class="muted">Nothing was changed.</p>;
  const left = files.total - files.files.length;
  return (
    <>
      {files.commits.length > 0 && (
        <details class="review-section">
          <summary>{files.commits.length === 1 ? "1 commit" : `${files.commits.length} commits`}</summary>
          <ol class="commit-list">
            {files.commits.map((one) => (
              <li key={one}>{splitHidden(one)}</li>
            ))}
          </ol>
        </details>
      )}
      <div class="code-columns">
        <FileNavigation files={files.files} kept={kept?.files} />
        <div class="file-sections">
          {props.reviewId && <RemarkAdder reviewId={props.reviewId} path="" line={0} label="Comment on the whole change" onChanged={props.onChanged} />}
          {files.files.map((file) => (
            <FileSection
              key={`${files.commit}${files.before}${file.path}`}
              file={file}
              commit={files.commit}
              before={files.before}
              layout={props.layout}
              remarks={remarks.filter((one) => one.place === file.path || one.place.startsWith(`${file.path}:`))}
              places={files.places}
              viewer={props.viewer}
              reviewId={props.reviewId}
              kept={kept}
              onChanged={props.onChanged}
            />
          ))}
          {left > 0 && (
            <button type="button" class="button" onClick={props.onMore}>
              Show {Math.min(left, MAX_FILES)} more files
            </button>
          )}
          {files.left_out > 0 && <p class="muted">{files.left_out} more files are not listed.</p>}
        </div>
      </div>
    </>
  );
}

function useMatches(query: string): boolean {
  const [isMatch, setMatch] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const take = () => setMatch(list.matches);
    list.addEventListener("change", take);
    return () => list.removeEventListener("change", take);
  }, [query]);
  return isMatch;
}
