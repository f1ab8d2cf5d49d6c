// A server that nobody has signed in to.
import type { JSX } from "preact";
import type { WaitingLogin } from "../../api/types";
import { splitHidden } from "../../parts/diff/visible_text";
import { formatAddress } from "../../router";
import { showToast } from "../../state/messages";
import { CardFrame } from "./cause_card";

export function LoginCard({ login }: { login: WaitingLogin }): JSX.Element {
  const copy = () => navigator.clipboard.writeText(login.command).then(() => showToast("Copied."));
  return (
    <CardFrame id={`login-${login.server}`} kind="Login" tone="warning" title={`${login.server} wants a login`}>
      <p class="muted">Agents cannot use its tools until you sign in at {splitHidden(login.url)}</p>
      <div class="button-row decision">
        <a class="button primary" href={formatAddress({ view: "upstreams", rest: [login.server] })}>
          Sign in
        </a>
        <span class="command-line">
          <span class="muted">or in a terminal:</span> <code>{login.command}</code>{" "}
          <button type="button" class="link-button" onClick={copy}>
            Copy
          </button>
        </span>
      </div>
    </CardFrame>
  );
}
