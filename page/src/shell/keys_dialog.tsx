// Every key that does something now.
import type { JSX } from "preact";
import { Dialog } from "../parts/dialog";
import { commands$, type PageCommand } from "../state/commands";
import { useStore } from "../state/store";

const EVERYWHERE: readonly Pick<PageCommand, "title" | "keys">[] = [
  { title: "Find a task or an action", keys: "Ctrl K" },
  { title: "Send a form", keys: "Ctrl Enter" },
  { title: "Close what is open", keys: "Esc" },
];

export function KeysDialog({ onClose }: { onClose: () => void }): JSX.Element {
  const commands = useStore(commands$, (all) => all).filter((one) => one.keys);
  const groups = new Map<string, Pick<PageCommand, "title" | "keys">[]>([["Everywhere", [...EVERYWHERE]]]);
  for (const command of commands) groups.set(command.group, [...(groups.get(command.group) ?? []), command]);
  return (
    <Dialog title="Keys" onClose={onClose} width="wide">
      <div class="keys" tabIndex={0}>
        {[...groups].map(([group, several]) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {several.map((one) => (
                <div key={one.title}>
                  <dt>{one.title}</dt>
                  <dd>
                    {one.keys?.split(" ").map((key) => <kbd>{key}</kbd>)}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
