// The view of the address, loaded when it is first shown. The focus moves to it when somebody goes to another view.
import type { ComponentType, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ErrorBoundary } from "../parts/error_boundary";
import { EmptyView, ErrorNote, LoadingNote } from "../parts/notes";
import { useAddress } from "../router";
import { findView } from "../views/all_views";

const loaded = new Map<string, ComponentType>();

export function ViewFrame(): JSX.Element {
  const { view: name, rest, project } = useAddress();
  const view = findView(name);
  const [, setLoaded] = useState("");
  const [problem, setProblem] = useState("");
  const content = useRef<HTMLElement>(null);
  const place = `${project}/${name}/${rest.join("/")}`;
  const lastName = useRef(name);
  useEffect(() => {
    setProblem("");
    if (!view || loaded.has(view.name)) return;
    view.load().then(
      (component) => {
        loaded.set(view.name, component);
        setLoaded(view.name);
      },
      () => setProblem(view.name),
    );
  }, [view]);
  useEffect(() => {
    if (lastName.current !== name) content.current?.focus({ preventScroll: true });
    lastName.current = name;
    content.current?.scrollTo(0, 0);
  }, [place]);
  const View = view && loaded.get(view.name);
  return (
    <main id="content" class={`content view-${name}`} tabIndex={-1} ref={content} aria-label={view?.title ?? "Page"}>
      {!view && <EmptyView title={`There is no view ${name}.`} />}
      {view && !View && !problem && <LoadingNote />}
      {problem && <ErrorNote error={{ message: "The view could not be loaded.", hint: "A newer version may be running: reload the page." }} onRetry={() => location.reload()} />}
      {View && (
        <ErrorBoundary resetOn={place}>
          <View key={`${project}/${name}`} />
        </ErrorBoundary>
      )}
    </main>
  );
}
