// What a part of the page says about itself: an error with its next step, nothing to show, still loading.
import type { ComponentChildren, JSX } from "preact";
import type { ApiError } from "../api/client";

export interface ErrorNoteProps {
  error: Pick<ApiError, "message" | "hint">;
  onRetry?: () => void;
}

export function ErrorNote({ error, onRetry }: ErrorNoteProps): JSX.Element {
  return (
    <div class="error-note" role="alert">
      <p>{error.message}</p>
      {error.hint && <p class="hint">{error.hint}</p>}
      {onRetry && (
        <button type="button" class="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

export interface EmptyViewProps {
  /** That there is nothing, in one sentence. */
  title: string;
  /** What would be here, or how something comes here. */
  children?: ComponentChildren;
}

export function EmptyView({ title, children }: EmptyViewProps): JSX.Element {
  return (
    <div class="empty-view">
      <p class="empty-title">{title}</p>
      {children && <div class="empty-more">{children}</div>}
    </div>
  );
}

/** Shown while the first answer is on its way; it appears after a moment, so that fast answers do not flicker. */
export function LoadingNote({ what = "Loading" }: { what?: string }): JSX.Element {
  return (
    <p class="loading-note" role="status">
      {what}…
    </p>
  );
}
