// Changes that wait for somebody to look at them, one of them, or everything that a run did.
import type { JSX } from "preact";
import { useAddress } from "../../router";
import { ReviewList } from "./review_list";
import { ReviewPage } from "./review_page";
import { RunChangePage } from "./run_change_page";

export default function ReviewView(): JSX.Element {
  const { rest } = useAddress();
  const [first, second] = rest;
  if (first === "run" && second) return <RunChangePage key={second} run={second} />;
  if (first) return <ReviewPage key={first} subject={first} />;
  return <ReviewList />;
}
