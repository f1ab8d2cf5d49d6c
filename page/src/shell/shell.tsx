// The frame around every view: navigation, project, search, connection, and what works everywhere.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { SIGNED_OUT } from "../api/client";
import { ErrorNote, LoadingNote } from "../parts/notes";
import { Icon } from "../parts/icon";
import { Messages } from "../parts/messages";
import { navigate, useAddress } from "../router";
import { type PageCommand, useCommands } from "../state/commands";
import { loadProjects, projects$, type ShownProject } from "../state/projects";
import { useRead } from "../state/read";
import { useStore } from "../state/store";
import { NAVIGATION } from "../views/all_views";
import { ConnectionNote } from "./connection_note";
import { KeysDialog } from "./keys_dialog";
import { Navigation } from "./navigation";
import { useNeedsAlert } from "./needs_alert";
import { Palette } from "./palette";
import { ProjectSwitcher } from "./project_switcher";
import { SettingsDialog } from "./settings_dialog";
import { ViewFrame } from "./view_frame";
import { usePaletteKey } from "./palette_key";

type OpenDialog = "palette" | "keys" | "settings" | null;

export function Shell(): JSX.Element {
  const { projects, error } = useStore(projects$, (state) => state);
  const { project } = useAddress();
  const isKnown = projects?.some((one) => one.key === project) ?? false;
  if (projects?.[0] && !project) navigate({ project: projects[0].key }, { replace: true });
  if (isKnown) return <ProjectShell />;
  return (
    <main class="start">
      {error && error.code === SIGNED_OUT && <SignedOut />}
      {error && error.code !== SIGNED_OUT && <ErrorNote error={error} onRetry={() => void loadProjects()} />}
      {!error && !projects && <LoadingNote />}
      {projects && project && <UnknownProject name={project} />}
    </main>
  );
}

function ProjectShell(): JSX.Element {
  const [open, setOpen] = useState<OpenDialog>(null);
  const counts = useRead("view_counts", {}, { whileHidden: true }).answer;
  useNeedsAlert(counts);
  usePaletteKey(() => setOpen("palette"));
  const projects = useStore(projects$, (state) => state.projects) ?? [];
  useCommands(shellCommands(setOpen, projects).map((one) => ({ ...one, isEverywhere: true })));
  const close = () => setOpen(null);
  return (
    <div class="shell">
      <a class="skip-link" href="#content" onClick={skipToContent}>
        Skip to the content
      </a>
      <header class="top">
        <ProjectSwitcher />
        <button type="button" class="search-button" onClick={() => setOpen("palette")}>
          <Icon name="search" />
          <span class="search-words">Find a task or an action</span>
          <kbd aria-hidden="true">Ctrl K</kbd>
        </button>
        <ConnectionNote />
        <button type="button" class="icon-button" aria-label="Keys" title="Keys (?)" onClick={() => setOpen("keys")}>
          <Icon name="question" />
        </button>
        <button type="button" class="icon-button" aria-label="Settings" title="Settings" onClick={() => setOpen("settings")}>
          <Icon name="settings" />
        </button>
      </header>
      <Navigation counts={counts} />
      <ViewFrame />
      <Messages />
      {open === "palette" && <Palette onClose={close} />}
      {open === "keys" && <KeysDialog onClose={close} />}
      {open === "settings" && <SettingsDialog onClose={close} />}
    </div>
  );
}

function shellCommands(setOpen: (dialog: OpenDialog) => void, projects: readonly ShownProject[]): PageCommand[] {
  const views = NAVIGATION.map((view) => ({
    title: view.title,
    group: "Go to",
    keys: `g ${view.key}`,
    run: () => navigate({ view: view.name }),
  }));
  return [
    ...views,
    { title: "Show the keys", group: "Page", keys: "?", run: () => setOpen("keys") },
    { title: "Find a task or an action", group: "Page", keys: "/", run: () => setOpen("palette") },
    { title: "Settings", group: "Page", run: () => setOpen("settings") },
    ...projects.slice(projects.length > 1 ? 0 : 1).map((one) => ({ title: `Project ${one.name}`, group: "Go to", run: () => navigate({ project: one.key }) })),
  ];
}

/** A view with much before what it is about names a better place to skip to. */
function skipToContent(event: Event): void {
  event.preventDefault();
  const content = document.getElementById("content");
  (content?.querySelector<HTMLElement>("[data-skip-target]") ?? content)?.focus();
}

function SignedOut(): JSX.Element {
  return (
    <div class="empty-view">
      <h1>You are signed out</h1>
      <p>
        Run <code>bn gui --link</code> in the project, and open the link that it prints.
      </p>
    </div>
  );
}

function UnknownProject({ name }: { name: string }): JSX.Element {
  const projects = useStore(projects$, (state) => state.projects) ?? [];
  return (
    <div class="empty-view">
      <h1>There is no project {name} here</h1>
      <ul>
        {projects.map((one) => (
          <li key={one.key}>
            <a href={`/${encodeURIComponent(one.key)}`}>{one.name}</a>
          </li>
        ))}
      </ul>
    </div>
  );
}
