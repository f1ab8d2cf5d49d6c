import type { TaskPage } from "../../api/types";

/** What every part of the page of a task gets. */
export interface SectionProps {
  page: TaskPage;
  isReadonly: boolean;
  onChanged: () => void;
}

/** The name of an agent or a person. */
export function nameOf(page: TaskPage, actor: string): string {
  return page.names[actor] ?? actor;
}
