// What people work with most: tasks, runs and reviews.
export { default as BoardView } from "./board/view";
export { default as ReviewView } from "./review/view";
export { default as RunsView } from "./runs/view";
export { default as TaskView } from "./task/view";
