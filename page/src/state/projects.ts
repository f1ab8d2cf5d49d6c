// The projects that the page shows, and the one of the address.
import { api, ApiError } from "../api/client";
import { useAddress } from "../router";
import { Store, useStore } from "./store";

/** A project that is open, or that is opened when somebody goes there. */
export interface ShownProject {
  key: string;
  name: string;
  place: string;
}

interface ProjectsState {
  projects: readonly ShownProject[] | null;
  isReadonly: boolean;
  /** The newest event of each open project. */
  cursors: ReadonlyMap<string, number>;
  error: ApiError | null;
}

export const projects$ = new Store<ProjectsState>({ projects: null, isReadonly: false, cursors: new Map(), error: null });

export async function loadProjects(): Promise<void> {
  try {
    const { projects, broken, others, is_readonly: isReadonly } = await api.projects();
    const cursors = new Map(projects.map((one) => [one.key, one.cursor]));
    projects$.set({ projects: [...projects, ...broken, ...others], isReadonly, cursors, error: null });
  } catch (error) {
    const problem = error instanceof ApiError ? error : new ApiError("E_PAGE", String(error), "reload the page", 0);
    projects$.update({ error: problem });
  }
}

/** The project of the address; undefined until it is known. */
export function useProject(): ShownProject | undefined {
  const { project } = useAddress();
  return useStore(projects$, (state) => state.projects?.find((one) => one.key === project));
}

/** Whether nothing may be changed: actions are then not offered. */
export function useIsReadonly(): boolean {
  return useStore(projects$, (state) => state.isReadonly);
}
