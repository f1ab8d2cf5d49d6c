// Starts the page.
import { render } from "preact";
import { startRouter } from "./router";
import { Shell } from "./shell/shell";
import { startKeys } from "./state/commands";
import { loadProjects, projects$ } from "./state/projects";
import { applySettings } from "./state/settings";
import { startStream } from "./state/stream";

applySettings();
startRouter();
startKeys();
void loadProjects().then(() => startStream(projects$.state.cursors));
render(<Shell />, document.getElementById("page") as HTMLElement);
