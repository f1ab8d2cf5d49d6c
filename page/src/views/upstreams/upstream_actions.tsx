// What a person may do about a server: test it, sign in, switch it off and on.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { UpstreamEntry } from "../../api/types";
import { ErrorNote } from "../../parts/notes";
import { formatAddress } from "../../router";
import { useAction } from "../../state/action";
import { useCancellableAction } from "../../state/cancellable_action";
import { announce, showToast } from "../../state/messages";
import { useIsReadonly } from "../../state/projects";
import { LoginDialog } from "./login_dialog";

export interface UpstreamActionsProps {
  entry: UpstreamEntry;
  onChange: () => void;
  /** In a list, where approving is left to the server's own page. */
  isShort?: boolean;
}

export function UpstreamActions({ entry, onChange, isShort = false }: UpstreamActionsProps): JSX.Element | null {
  const test = useCancellableAction("test_upstream");
  const change = useAction("switch_upstream");
  const signOut = useAction("log_out_upstream", { done: "Signed out." });
  const [isSigningIn, setSigningIn] = useState(false);
  const { name, auth, enabled, kind } = entry.server;
  if (useIsReadonly()) return null;
  const runTest = async () => {
    const tested = await test.run({ name });
    if (tested) announce(`${tested.standing}.`);
    onChange();
  };
  const toggle = async () => {
    const done = await change.run({ name, enabled: !enabled });
    if (done) showToast(`${name} is ${done.enabled ? "enabled" : "disabled"} in ${done.file}.`);
    onChange();
  };
  const leave = async () => {
    await signOut.run({ name });
    onChange();
  };
  const mayConnect = enabled && entry.state !== "broken" && entry.state !== "awaiting_trust";
  const mayLogIn = mayConnect && (entry.state === "needs_login" || auth === "oauth");
  return (
    <div class="upstream-actions">
      <div class="button-row">
        {isShort && (entry.state === "awaiting_trust" || entry.changed_tools > 0) && (
          <a class="button primary" href={formatAddress({ view: "upstreams", rest: [name] })} aria-label={`Review ${name}`}>
            Review
          </a>
        )}
        {mayLogIn && (
          <button type="button" class={`button ${entry.state === "needs_login" ? "primary" : ""}`} aria-label={`Sign in to ${name}`} onClick={() => setSigningIn(true)}>
            Sign in
          </button>
        )}
        {mayConnect && !test.isPending && (
          <button type="button" class="button" aria-label={`${entry.state_from === "live" ? "Reconnect" : "Test"} ${name}`} disabled={entry.is_testing} onClick={runTest}>
            {entry.state_from === "live" ? "Reconnect" : "Test"}
          </button>
        )}
        {test.isPending && (
          <button type="button" class="button" onClick={test.cancel} aria-label={`Cancel the test of ${name}`}>
            Connecting… Cancel
          </button>
        )}
        {(kind === "user" || kind === "project") && entry.state !== "broken" && (
          <button type="button" class="button" aria-label={`${enabled ? "Disable" : "Enable"} ${name}`} disabled={change.isPending} onClick={toggle}>
            {enabled ? "Disable" : "Enable"}
          </button>
        )}
        {!isShort && auth === "oauth" && (
          <button type="button" class="button" disabled={signOut.isPending} onClick={leave}>
            Sign out
          </button>
        )}
      </div>
      {test.error && <ErrorNote error={test.error} />}
      {isSigningIn && (
        <LoginDialog
          name={name}
          onClose={() => {
            setSigningIn(false);
            onChange();
          }}
        />
      )}
    </div>
  );
}
