// How many things wait for the person: in the tab's title, and as a notification while the page is hidden.
import { useEffect, useRef } from "preact/hooks";
import type { ViewCounts } from "../api/types";
import { useProject } from "../state/projects";
import { settings$ } from "../state/settings";
import { announce } from "../state/messages";

export function useNeedsAlert(counts: ViewCounts | undefined): void {
  const project = useProject();
  const before = useRef<ViewCounts | undefined>(undefined);
  const count = counts?.needs_you;
  useEffect(() => {
    const name = project?.name ?? "Binnacle";
    document.title = count ? `(${count}) ${name} · Binnacle` : `${name} · Binnacle`;
  }, [count, project?.name]);
  useEffect(() => {
    const known = before.current;
    before.current = counts;
    // What was answered and asked again elsewhere meanwhile is as many, and is new.
    if (!counts || !count || !known || (count <= known.needs_you && counts.newest_need <= known.newest_need)) return;
    announce(count === 1 ? "1 thing needs you" : `${count} things need you`);
    if (document.hidden && settings$.state.notifies) notify(count, project?.name ?? "");
  }, [counts]);
  useEffect(() => {
    before.current = undefined;
  }, [project?.key]);
}

/** One notification for a project: a newer one takes its place. */
function notify(count: number, project: string): void {
  if (!("Notification" in window) || Notification.permission !== "granted") return;
  const words = count === 1 ? "1 thing needs you" : `${count} things need you`;
  const notification = new Notification(words, { body: project, tag: `binnacle-${project}` });
  notification.onclick = () => {
    window.focus();
    notification.close();
  };
}
