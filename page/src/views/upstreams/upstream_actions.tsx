// What a person may do about a server: test it, sign in, switch it off and on.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { UpstreamEntry } from "../../api/types";
import { ErrorNote } from "../../parts/notes";
import { formatAddress } from "../../router";
import { useAction } from "../../state/action";
import { useCancellableAction } from "../../state/cancellable_action";
import { useCommands } from "../../state/commands";
import { announce, showToast } from "../../state/messages";
import { useIsReadonly } from "../../state/projects";
import { LoginDialog } from "./login_dialog";

export interface UpstreamActionsProps {
  entry: UpstreamEntry;
  onChange: () => void;
  /** In a list, where approving is left to the server's own page. */
  isShort?: boolean;
}

interface UpstreamAction {
  words: string;
  /** The same with the name of the server, for those who do not see the place. */
  title: string;
  run: () => void;
  isPrimary?: boolean;
  isDisabled?: boolean;
}

export function UpstreamActions({ entry, onChange, isShort = false }: UpstreamActionsProps): JSX.Element | null {
  const test = useCancellableAction("test_upstream");
  const change = useAction("switch_upstream");
  const signOut = useAction("log_out_upstream", { done: "Signed out." });
  const [isSigningIn, setSigningIn] = useState(false);
  const { name, auth, enabled, kind } = entry.server;
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
  const actions: UpstreamAction[] = [];
  const offer = (words: string, run: () => void, more: Partial<UpstreamAction> = {}) => actions.push({ words, title: `${words} ${name}`, run, ...more });
  if (mayLogIn) offer("Sign in", () => setSigningIn(true), { title: `Sign in to ${name}`, isPrimary: entry.state === "needs_login" });
  if (test.isPending) offer("Connecting… Cancel", test.cancel, { title: `Cancel the test of ${name}` });
  else if (mayConnect) offer(entry.state_from === "live" ? "Reconnect" : "Test", runTest, { isDisabled: entry.is_testing });
  if ((kind === "user" || kind === "project") && entry.state !== "broken") offer(enabled ? "Disable" : "Enable", toggle, { isDisabled: change.isPending });
  if (!isShort && auth === "oauth") offer("Sign out", leave, { title: `Sign out of ${name}`, isDisabled: signOut.isPending });
  const isReadonly = useIsReadonly();
  useCommands(isReadonly ? [] : actions.map(({ title, run }) => ({ title, group: "Upstreams", run })));
  if (isReadonly) return null;
  return (
    <div class="upstream-actions">
      <div class="button-row">
        {isShort && (entry.state === "awaiting_trust" || entry.changed_tools > 0) && (
          <a class="button primary" href={formatAddress({ view: "upstreams", rest: [name] })} aria-label={`Review ${name}`}>
            Review
          </a>
        )}
        {actions.map((one) => (
          <button key={one.words} type="button" class={`button ${one.isPrimary ? "primary" : ""}`} aria-label={one.title} disabled={one.isDisabled} onClick={one.run}>
            {one.words}
          </button>
        ))}
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
