// What a person prefers: theme, density, notifications.
import type { JSX } from "preact";
import { Dialog } from "../parts/dialog";
import { CheckField, ChoiceField } from "../parts/form";
import { showError } from "../state/messages";
import { changeSettings, type PageSettings, settings$ } from "../state/settings";
import { useStore } from "../state/store";

const THEMES: readonly (readonly [PageSettings["theme"], string])[] = [
  ["system", "As the system"],
  ["light", "Light"],
  ["dark", "Dark"],
  ["contrast", "High contrast"],
];
const DENSITIES: readonly (readonly [PageSettings["density"], string])[] = [
  ["comfortable", "Comfortable"],
  ["compact", "Compact"],
];

export function SettingsDialog({ onClose }: { onClose: () => void }): JSX.Element {
  const { theme, density, notifies } = useStore(settings$, (settings) => settings);
  return (
    <Dialog title="Settings" onClose={onClose}>
      <div class="form">
        <ChoiceField label="Theme" value={theme} choices={THEMES} onChange={(value) => changeSettings({ theme: value as PageSettings["theme"] })} />
        <ChoiceField
          label="Density"
          value={density}
          choices={DENSITIES}
          onChange={(value) => changeSettings({ density: value as PageSettings["density"] })}
        />
        <CheckField
          label="Notify me when something needs me"
          help="Only while this page is hidden, and only from this browser."
          isChecked={notifies}
          onChange={(isChecked) => void setNotifies(isChecked)}
        />
        <p class="field-help">Settings are kept in this browser.</p>
      </div>
    </Dialog>
  );
}

async function setNotifies(isWanted: boolean): Promise<void> {
  if (isWanted && "Notification" in window && (await Notification.requestPermission()) !== "granted") {
    showError({ message: "The browser does not allow notifications of this page.", hint: "Allow them in the settings of the browser for this address." });
    changeSettings({ notifies: false });
    return;
  }
  changeSettings({ notifies: isWanted });
}
