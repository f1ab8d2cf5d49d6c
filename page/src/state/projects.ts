// The projects that the page shows, and the one of the address.
import { api, ApiError } from "../api/client";
import type { PageProjectEntry } from "../api/types";
import { useAddress } from "../router";
import { Store, useStore } from "./store";

interface ProjectsState {
  projects: readonly PageProjectEntry[] | null;
  error: ApiError | null;
}

export const projects$ = new Store<ProjectsState>({ projects: null, error: null });

export async function loadProjects(): Promise<void> {
  try {
    projects$.set({ projects: (await api.projects()).projects, error: null });
  } catch (error) {
    const problem = error instanceof ApiError ? error : new ApiError("E_PAGE", String(error), "reload the page", 0);
    projects$.update({ error: problem });
  }
}

/** The project of the address; undefined until it is known. */
export function useProject(): PageProjectEntry | undefined {
  const { project } = useAddress();
  return useStore(projects$, (state) => state.projects?.find((one) => one.key === project));
}

/** Whether nothing may be changed: actions are then not offered. */
export function useIsReadonly(): boolean {
  return useProject()?.is_readonly ?? false;
}
