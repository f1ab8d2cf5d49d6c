// The files of a change with their counts, and the way to each.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ReviewedFile } from "../../api/types";
import { splitHidden, visibleLine } from "../../parts/diff/visible_text";
import { WindowedList } from "../../parts/windowed_list";
import { showFile } from "./code_places";

const ROW_HEIGHT = 32;

export interface FileNavigationProps {
  files: readonly ReviewedFile[];
  /** Those that the person called right. */
  kept: ReadonlySet<string> | undefined;
}

export function FileNavigation({ files, kept }: FileNavigationProps): JSX.Element {
  const [isOpen, setOpen] = useState(true);
  return (
    <nav class="file-navigation" aria-label="Files">
      <button type="button" class="link-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {files.length === 1 ? "1 file" : `${files.length} files`}
      </button>
      {isOpen && (
        <WindowedList
          class="file-names"
          label="Files"
          count={files.length}
          rowHeight={ROW_HEIGHT}
          isFixed
          keyOf={(at) => files[at]?.path ?? ""}
          renderRow={(at) => <FileLink file={files[at] as ReviewedFile} isKept={kept?.has(files[at]?.path ?? "") ?? false} />}
        />
      )}
    </nav>
  );
}

function FileLink({ file, isKept }: { file: ReviewedFile; isKept: boolean }): JSX.Element {
  const cut = file.path.lastIndexOf("/") + 1;
  return (
    <button type="button" class={`file-link ${file.protects ? "judges" : ""}`} title={visibleLine(file.path)} onClick={() => showFile(file.path)}>
      <span class="file-link-name">
        {isKept && "✓ "}
        {splitHidden(file.path.slice(cut).replace(/\n/g, "↵"))}
        {cut > 0 && <span class="muted"> {splitHidden(file.path.slice(0, cut).replace(/\n/g, "↵"))}</span>}
      </span>
      <span class="file-link-counts">
        <span class="added-count">+{file.added ?? 0}</span> <span class="removed-count">−{file.removed ?? 0}</span>
      </span>
    </button>
  );
}
