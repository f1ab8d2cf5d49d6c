// Starts the page.
import { render } from "preact";
import { startRouter } from "./router";
import { Shell } from "./shell/shell";
import { startKeys } from "./state/commands";
import { loadProjects } from "./state/projects";
import { applySettings } from "./state/settings";
import { startStream } from "./state/stream";
import "./styles/main.css";

applySettings();
startRouter();
startKeys();
startStream();
void loadProjects();
render(<Shell />, document.getElementById("page") as HTMLElement);
