// One file of a change: its name and counts, its lines, and the comments on them.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { ReviewedFile, ShownRemark } from "../../api/types";
import { Badge } from "../../parts/badge";
import type { DiffLayout } from "../../parts/diff/diff_rows";
import { DiffView } from "../../parts/diff/diff_view";
import { useNear } from "../../parts/diff/near";
import { splitHidden, visibleLine } from "../../parts/diff/visible_text";
import { ErrorNote, LoadingNote } from "../../parts/notes";
import { useFileLines } from "./file_lines";
import type { KeptFiles } from "./kept_files";
import { findUnsavedLine, hasUnsavedRemark, RemarkEditor } from "./remark_adder";
import { RemarkCard } from "./remark_card";

const NEAR_MARGIN = "800px 0px";
const ESTIMATED_REM = 1.25;
const MAX_ESTIMATED_LINES = 600;
const MORE_CONTEXT = 25;

export interface FileSectionProps {
  file: ReviewedFile;
  commit: string;
  before: string;
  layout: DiffLayout;
  remarks: readonly ShownRemark[];
  places: Readonly<Record<string, number>>;
  viewer: string;
  reviewId: string;
  kept: KeptFiles | undefined;
  onChanged: () => void;
}

export function FileSection(props: FileSectionProps): JSX.Element {
  const { file, kept } = props;
  const { ref, isNear, height } = useNear<HTMLElement>(NEAR_MARGIN);
  const isRight = kept?.files.has(file.path) ?? false;
  const [isOpen, setOpen] = useState(!file.folded && !isRight);
  const [context, setContext] = useState(3);
  const [isWriting, setWriting] = useState(() => props.reviewId !== "" && hasUnsavedRemark(props.reviewId, file.path, 0));
  const rem = isOpen ? Math.min(MAX_ESTIMATED_LINES, (file.added ?? 0) + (file.removed ?? 0) + 6) * ESTIMATED_REM + 3 : 3;
  const setMinimum = (element: HTMLElement | null) => {
    if (element) element.style.minHeight = isNear ? "" : height ? `${height}px` : `${rem}rem`;
  };
  const hold = (element: HTMLElement | null) => {
    ref.current = element;
    setMinimum(element);
  };
  const toggleRight = (isKept: boolean) => {
    kept?.toggle(file.path, isKept);
    setOpen(!isKept);
  };
  return (
    <section ref={hold} class={`file-section ${isNear ? "" : "diff-gap"}`} data-path={file.path} aria-label={visibleLine(file.path)} tabIndex={-1}>
      {isNear && (
        <>
          <FileHead file={file} isOpen={isOpen} onToggle={() => setOpen(!isOpen)}>
            {props.reviewId && (
              <button type="button" class="link-button" onClick={() => setWriting(true)}>
                Comment
              </button>
            )}
            {isOpen && context < MORE_CONTEXT && (
              <button type="button" class="link-button" onClick={() => setContext(MORE_CONTEXT)}>
                More context
              </button>
            )}
            {kept && (
              <label class="right-choice">
                <input type="checkbox" checked={isRight} onChange={(event) => toggleRight(event.currentTarget.checked)} /> Right as it is
              </label>
            )}
          </FileHead>
          <FileRemarks {...props} isWriting={isWriting} onClose={() => setWriting(false)} />
          {isOpen && <FileCode {...props} context={context} />}
          {!isOpen && file.folded && <p class="folded-note muted">Folded: {file.folded}</p>}
        </>
      )}
    </section>
  );
}

const STATUS_WORDS: Readonly<Record<string, string>> = { added: "new", removed: "removed", renamed: "renamed", binary: "not text" };

interface FileHeadProps {
  file: ReviewedFile;
  isOpen: boolean;
  onToggle: () => void;
  children: ComponentChildren;
}

function FileHead({ file, isOpen, onToggle, children }: FileHeadProps): JSX.Element {
  const status = STATUS_WORDS[file.status];
  return (
    <header class="file-head">
      <h3>
        <button type="button" class="file-toggle" aria-expanded={isOpen} onClick={onToggle}>
          <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span>
          <span class="file-name">
            {file.before && <>{splitHidden(file.before)} → </>}
            {splitHidden(file.path.replace(/\n/g, "↵"))}
          </span>
        </button>
      </h3>
      {file.protects && <Badge tone="warning">{file.protects}</Badge>}
      {status && <Badge tone="quiet">{status}</Badge>}
      {file.note && <Badge tone="quiet">{file.note}</Badge>}
      <span class="file-counts">
        <span class="added-count">+{file.added ?? 0}</span> <span class="removed-count">−{file.removed ?? 0}</span>
      </span>
      {children}
    </header>
  );
}

/** Comments on the file itself. */
function FileRemarks(props: FileSectionProps & { isWriting: boolean; onClose: () => void }): JSX.Element | null {
  const { file, remarks, places, viewer, reviewId, isWriting, onChanged, onClose } = props;
  const here = remarks.filter((one) => places[one.id] === 0);
  if (here.length === 0 && !isWriting) return null;
  return (
    <div class="file-remarks">
      {here.map((one) => (
        <RemarkCard key={one.id} remark={one} viewer={viewer} onChanged={onChanged} />
      ))}
      {isWriting && <RemarkEditor reviewId={reviewId} path={file.path} line={0} label="Comment on this file" onChanged={onChanged} onClose={onClose} />}
    </div>
  );
}

function FileCode(props: FileSectionProps & { context: number }): JSX.Element {
  const { file, commit, before, remarks, places, viewer, reviewId, onChanged } = props;
  const found = useFileLines({ commit, before, path: file.path, was: file.before ?? "", context: props.context }, true);
  const [writing, setWriting] = useState(() => (reviewId ? findUnsavedLine(reviewId, file.path) : 0));
  const below = (line: number): ComponentChildren => {
    if (line === 0) return null;
    const here = remarks.filter((one) => places[one.id] === line);
    if (here.length === 0 && writing !== line) return null;
    return (
      <>
        {here.map((one) => (
          <RemarkCard key={one.id} remark={one} viewer={viewer} onChanged={onChanged} />
        ))}
        {writing === line && (
          <RemarkEditor reviewId={reviewId} path={file.path} line={line} label={`Comment on line ${line}`} onChanged={onChanged} onClose={() => setWriting(0)} />
        )}
      </>
    );
  };
  return (
    <>
      {found.error && <ErrorNote error={found.error} onRetry={() => found.need(0)} />}
      {found.problem && <p class="folded-note muted">It cannot be shown: {splitHidden(found.problem)}</p>}
      {found.total === undefined && !found.error && found.lines.length === 0 && <LoadingNote />}
      {found.total === 0 && !found.problem && <p class="folded-note muted">No line was changed.</p>}
      {(found.total ?? found.lines.length) > 0 && (
        <DiffView
          label={visibleLine(file.path)}
          total={found.total ?? found.lines.length}
          lines={found.lines}
          layout={props.layout}
          onNeed={found.need}
          below={below}
          {...(reviewId ? { onComment: setWriting } : {})}
        />
      )}
    </>
  );
}
