// The project that is shown, and the others.
import type { JSX } from "preact";
import { Icon } from "../parts/icon";
import { Menu } from "../parts/menu";
import { navigate, useAddress } from "../router";
import { projects$, useIsReadonly, useProject } from "../state/projects";
import { useStore } from "../state/store";

export function ProjectSwitcher(): JSX.Element {
  const projects = useStore(projects$, (state) => state.projects) ?? [];
  const project = useProject();
  const { view } = useAddress();
  const name = <span class="project-name">{project?.name}</span>;
  const mode = useIsReadonly() && <span class="badge quiet">read only</span>;
  if (projects.length < 2) {
    return (
      <div class="project" title={project?.place}>
        {name}
        {mode}
      </div>
    );
  }
  const items = projects.map((one) => ({
    title: one.name,
    note: one.place,
    isChosen: one.key === project?.key,
    run: () => navigate({ project: one.key, view: view === "task" ? "board" : view }),
  }));
  return (
    <div class="project">
      <Menu label={`Project: ${project?.name}`} items={items} class="project-button">
        {name}
        <Icon name="down" />
      </Menu>
      {mode}
    </div>
  );
}
