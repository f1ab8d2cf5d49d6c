// Signs in to a server: the person opens its login page, and this waits until they have signed in there.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { Dialog } from "../../parts/dialog";
import { isOutside, OutsideLink } from "../../parts/markdown_inline";
import { ErrorNote, LoadingNote } from "../../parts/notes";
import { useCancellableAction } from "../../state/cancellable_action";
import { showToast } from "../../state/messages";
import { usePolling } from "../../state/polling";
import { useRead } from "../../state/read";

const REFRESH_MS = 1_000;

export function LoginDialog({ name, onClose }: { name: string; onClose: () => void }): JSX.Element {
  const login = useCancellableAction("log_in_upstream");
  const { answer, reload } = useRead("upstream", { name }, { on: [] });
  const signIn = async () => {
    const done = await login.run({ name });
    if (!done) return;
    showToast(`Signed in to ${name}. The login is kept ${done.kept}.`);
    onClose();
  };
  useEffect(() => void signIn(), []);
  usePolling(reload, REFRESH_MS, login.isPending);
  const lines = login.isPending ? (answer?.login ?? []) : [];
  const close = () => {
    login.cancel();
    onClose();
  };
  return (
    <Dialog title={`Sign in to ${name}`} onClose={close}>
      {lines.map((line) => (
        <p key={line}>{isOutside(line) ? <OutsideLink target={line}>{line}</OutsideLink> : line}</p>
      ))}
      {login.isPending && <LoadingNote what={lines.length ? "Waiting until you have signed in there" : "Asking the server how to sign in"} />}
      {login.error && <ErrorNote error={login.error} onRetry={signIn} />}
    </Dialog>
  );
}
