import type { JSX } from "preact";
import { EmptyView } from "../../parts/notes";

export default function ReviewView(): JSX.Element {
  return <EmptyView title="This view is empty." />;
}
