// A window above the page. The browser keeps the focus inside and gives it back; Escape closes it.
import type { ComponentChildren, JSX } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "./icon";

export interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** Buttons at the end. */
  footer?: ComponentChildren;
  width?: "narrow" | "wide";
  class?: string;
}

export function Dialog({ title, onClose, children, footer, width = "narrow", class: more = "" }: DialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useLayoutEffect(() => {
    const element = dialog.current;
    const opener = document.activeElement;
    element?.showModal();
    return () => {
      element?.close();
      giveFocusTo(opener);
    };
  }, []);
  const cancel = (event: Event) => {
    event.preventDefault();
    onClose();
  };
  return (
    <dialog ref={dialog} class={`dialog ${width} ${more}`} aria-labelledby={heading} onCancel={cancel}>
      <header class="dialog-head">
        <h2 id={heading}>{title}</h2>
        <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="dialog-body">{children}</div>
      {footer && <footer class="dialog-foot">{footer}</footer>}
    </dialog>
  );
}

/** Gives the focus back to what had it, or to the content if that is gone. */
export function giveFocusTo(opener: Element | null): void {
  const isThere = opener instanceof HTMLElement && opener !== document.body && opener.isConnected;
  (isThere ? opener : findContent())?.focus();
}

/** What the view of the address is in, which can have the focus. */
export const findContent = (): HTMLElement | null => document.getElementById("content");

export interface ConfirmDialogProps {
  /** The question, such as `Delete the task?` */
  title: string;
  /** What will happen, in words that name it. */
  children: ComponentChildren;
  /** What the button says: the action, never `OK`. */
  action: string;
  kind?: "plain" | "dangerous";
  isPending?: boolean;
  /** A form that has to be filled in before may keep it disabled. */
  isReady?: boolean;
  onConfirm: () => void;
  onClose: () => void;
}

/** Asks before something that cannot be taken back, and says what will happen. */
export function ConfirmDialog(props: ConfirmDialogProps): JSX.Element {
  const { kind = "plain", isPending = false, isReady = true } = props;
  const buttons = (
    <>
      <button type="button" class="button" onClick={props.onClose}>
        Cancel
      </button>
      <button
        type="button"
        class={`button ${kind === "dangerous" ? "dangerous" : "primary"}`}
        disabled={isPending || !isReady}
        onClick={props.onConfirm}
      >
        {props.action}
      </button>
    </>
  );
  return (
    <Dialog title={props.title} onClose={props.onClose} footer={buttons}>
      {props.children}
    </Dialog>
  );
}
