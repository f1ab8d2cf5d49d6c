// The messages of the page, and the words for screen readers.
import type { JSX } from "preact";
import { announcement$, dismiss, messages$ } from "../state/messages";
import { useStore } from "../state/store";
import { Icon } from "./icon";

export function Messages(): JSX.Element {
  const messages = useStore(messages$, (all) => all);
  const announcement = useStore(announcement$, (text) => text);
  return (
    <>
      <div class="sr-only" role="status" aria-live="polite" data-testid="announcement">
        {announcement}
      </div>
      <section class="toasts" aria-label="Messages" aria-live="polite">
        {messages.map((one) => (
          <div key={one.id} class={`toast ${one.kind}`} role={one.kind === "error" ? "alert" : undefined}>
            <div>
              <p>{one.text}</p>
              {one.hint && <p class="hint">{one.hint}</p>}
            </div>
            <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(one.id)}>
              <Icon name="close" />
            </button>
          </div>
        ))}
      </section>
    </>
  );
}
