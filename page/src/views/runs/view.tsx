// The runs of a project, one of them, or a new one: by the address.
import type { JSX } from "preact";
import { useAddress } from "../../router";
import { RunPageView } from "./run_page";
import { RunsList } from "./runs_list";
import { StartRunView } from "./start_run";

export default function RunsView(): JSX.Element {
  const [run] = useAddress().rest;
  if (run === "new") return <StartRunView />;
  return run ? <RunPageView key={run} name={run} /> : <RunsList />;
}
