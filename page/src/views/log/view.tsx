import type { JSX } from "preact";
import { EmptyView } from "../../parts/notes";

export default function LogView(): JSX.Element {
  return <EmptyView title="This view is empty." />;
}
