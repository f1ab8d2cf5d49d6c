// Adding a comment to a line, to a file or to the whole change. It is a draft until changes are asked for.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../../state/action";
import { RemarkForm } from "./remark_form";

interface RemarkPlaceProps {
  reviewId: string;
  path: string;
  /** 0 for the file or the change. */
  line: number;
  label: string;
  onChanged: () => void;
}

export function RemarkEditor({ reviewId, path, line, label, onChanged, onClose }: RemarkPlaceProps & { onClose: () => void }): JSX.Element {
  const { run, isPending, error } = useAction("add_remark", { errors: "inline" });
  const save = async (body: string) => {
    if (!(await run({ review: reviewId, path, line, body }))) return false;
    onClose();
    onChanged();
    return true;
  };
  return <RemarkForm label={label} storageKey={keyOf(reviewId, path, line)} isPending={isPending} error={error} onSave={save} onCancel={onClose} />;
}

/** A button that becomes the form. */
export function RemarkAdder(props: RemarkPlaceProps): JSX.Element {
  const [isOpen, setOpen] = useState(() => hasUnsavedRemark(props.reviewId, props.path, props.line));
  if (isOpen) return <RemarkEditor {...props} onClose={() => setOpen(false)} />;
  return (
    <button type="button" class="link-button remark-adder" onClick={() => setOpen(true)}>
      {props.label}
    </button>
  );
}

function keyOf(reviewId: string, path: string, line: number): string {
  return `binnacle.remark.${reviewId}.${path}:${line}`;
}

/** Whether a comment was begun here and neither saved nor given up. */
export function hasUnsavedRemark(reviewId: string, path: string, line: number): boolean {
  return sessionStorage.getItem(keyOf(reviewId, path, line)) !== null;
}

/** The line of a file at which a comment was begun; 0 if there is none. */
export function findUnsavedLine(reviewId: string, path: string): number {
  const start = keyOf(reviewId, path, 0).slice(0, -1);
  const keys = Array.from({ length: sessionStorage.length }, (_, at) => sessionStorage.key(at) ?? "");
  const lines = keys.filter((key) => key.startsWith(start)).map((key) => Number(key.slice(start.length)));
  return lines.find((line) => line > 0) ?? 0;
}
