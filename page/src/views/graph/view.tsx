import type { JSX } from "preact";
import { EmptyView } from "../../parts/notes";

export default function GraphView(): JSX.Element {
  return <EmptyView title="This view is empty." />;
}
