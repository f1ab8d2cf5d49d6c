// What shows how the system around the work does.
export { default as AgentsView } from "./agents/view";
export { default as ChartsView } from "./charts/view";
export { default as GraphView } from "./graph/view";
export { default as LogView } from "./log/view";
export { default as ToolsView } from "./tools/view";
export { default as UpstreamsView } from "./upstreams/view";
