// The card that is dragged. The browser hides its data until it is dropped, and columns have to know before.
import type { MovableTask } from "../task/moves";

export const dragged: { task: MovableTask | null } = { task: null };

export function startDragging(event: DragEvent, task: MovableTask): void {
  dragged.task = task;
  event.dataTransfer?.setData("text/plain", `${task.id} ${task.title}`);
  if (event.dataTransfer) event.dataTransfer.effectAllowed = "move";
}

export function endDragging(): void {
  dragged.task = null;
}

export function readDragged(): MovableTask | null {
  const { task } = dragged;
  dragged.task = null;
  return task;
}
