// Small pictures beside words. They say nothing that the words do not.
import type { JSX } from "preact";

const PATHS = {
  needs: "M8 1.8 14.5 13.5h-13zM8 6v3.6M8 11.4v.2",
  board: "M2 2.5h3.4v11H2zM6.3 2.5h3.4v7.5H6.3zM10.6 2.5H14v9.2h-3.4z",
  runs: "M4.5 2.8v10.4L13 8z",
  review: "M2 3h8M2 6.3h5M2 9.7h4M8.2 11.2l2 2 4-4.6",
  graph: "M5 4a1.8 1.8 0 1 1-3.6 0A1.8 1.8 0 0 1 5 4zM14.6 8A1.8 1.8 0 1 1 11 8a1.8 1.8 0 0 1 3.6 0zM5 12a1.8 1.8 0 1 1-3.6 0A1.8 1.8 0 0 1 5 12zM5 4.4 11 7.5M5 11.6l6-3.1",
  agents: "M8 8a2.8 2.8 0 1 0 0-5.6A2.8 2.8 0 0 0 8 8zM2.6 14c.4-3 2.6-4.4 5.4-4.4s5 1.4 5.4 4.4",
  tools: "M10.6 2.2a3.6 3.6 0 0 0-4 4.8l-4.4 4.4 2.4 2.4L9 9.4a3.6 3.6 0 0 0 4.8-4L11.6 7.6 8.4 4.4z",
  upstreams: "M3 13.5V9.8M8 13.5V6.2M13 13.5V2.6",
  log: "M3 3.5h10M3 6.5h10M3 9.5h7M3 12.5h5",
  charts: "M2 2v12h12M4.6 10.4 7.4 7l2.4 2 3.8-5",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.4 10.4 14 14",
  settings: "M2 4.5h6M11 4.5h3M9.5 3v3M2 11.5h3M8 11.5h6M6.5 10v3",
  more: "M3 8h.1M8 8h.1M13 8h.1",
  plus: "M8 3v10M3 8h10",
  question: "M5.6 5.6a2.5 2.5 0 1 1 3.6 2.6C8.3 8.7 8 9.2 8 10M8 12.4v.2",
  down: "M4 6.5 8 10.5l4-4",
  edit: "M3 13l.6-2.8 7.2-7.2 2.2 2.2-7.2 7.2zM9.4 4.4l2.2 2.2",
  check: "M3 8.5 6.5 12 13 4.5",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
