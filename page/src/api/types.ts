// Replaced by the generated types.

export interface PageProjectEntry {
  key: string;
  name: string;
  repo: string;
  person: string;
  is_readonly: boolean;
}

export interface ProjectList {
  projects: PageProjectEntry[];
}

export interface Reads {
  view_counts: { asked: Record<string, never>; answer: ViewCounts };
  search_tasks: { asked: { text: string; limit?: number }; answer: FoundTasks };
}

export interface Actions {}

export interface ViewCounts {
  needs_you: number;
  open_tasks: number;
  runs: number;
  reviews: number;
  agents: number;
}

export interface FoundTasks {
  tasks: { id: string; title: string; status: string }[];
}
