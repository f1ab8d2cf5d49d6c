// Made from the Python structs by `make page`. Do not edit: change src/binnacle/web/api/ instead.

/** Accepts the changes of a server's tools that a person has seen. */
export interface AcceptTools {
  name: string;
  seen: string;
  tool?: string;
}

/** The tools whose changes were accepted. */
export interface AcceptedUpstreamTools {
  accepted: string[];
}

/** The agents, those that ended last, and the newest sessions. */
export interface AgentsPage {
  agents: WorkingAgent[];
  ended: WorkingAgent[];
  sessions: SessionRecord[];
  cut: boolean;
}

/** An answer to what waits for a person. */
export interface AnswerAttention {
  id: string;
  text?: string;
}

/** What waited for a person, with the answer. */
export interface AnsweredEntry {
  attention: Attention;
}

/** Something that waits for a person: one entry for one cause. */
export interface Attention {
  id: string;
  run?: string | null;
  session?: string | null;
  task_id?: string | null;
  question?: string | null;
  kind: "ended" | "permission" | "question" | "review" | "stuck";
  title: string;
  body?: string;
  options?: string[];
  created_at: string;
  answer?: string;
  answered_by?: string | null;
  answered_at?: string | null;
}

/** An open project that cannot be read now. */
export interface BrokenProject {
  key: string;
  name: string;
  place: string;
  problem: PageError;
}

/** A limit of a run, and how much of it is used. */
export interface BudgetUse {
  kind: string;
  limit: number;
  used: number;
}

/** Events of one project, in their order; or that the page has to read everything again. */
export interface ChangeMessage {
  project: string;
  cursor?: number;
  events?: Event[];
  reset?: boolean;
  problem?: PageError | null;
}

/** A tool that is not as it was accepted. */
export interface ChangedUpstreamTool {
  kind: string;
  tool: string;
  was: string;
  diff: string;
}

/** Closed tasks, by level. */
export interface ClosedCount {
  checked?: number;
  accepted?: number;
  waived?: number;
  observed?: number;
  said?: number;
  cancelled?: number;
}

/** An entry with all of its texts. */
export interface CompleteEntry {
  offset: number;
  entry: TranscriptEntry;
}

/** Something wrong in the configuration, for the person who can change it. Names keys, never secret values. */
export interface ConfigProblem {
  server: string;
  where: string;
  message: string;
  hint: string;
}

/** Ends an agent: its registration, its claims and its processes. */
export interface EndAgent {
  id: string;
  reason?: string;
}

/** An agent that was ended, with its processes. */
export interface EndedAgent {
  id: string;
  name: string;
  terminated: boolean;
  how: string;
  pids: number[];
  released: string[];
}

/** One change. Events are only appended, never changed. */
export interface Event {
  seq: number;
  at: string;
  actor: string;
  session?: string | null;
  entity: string;
  entity_id: string;
  action: string;
  changes?: Record<string, unknown>;
}

/** What an event recorded, as JSON text. */
export interface EventChanges {
  seq: number;
  text: string;
  cut: boolean;
}

/** Names an event. */
export interface EventNumber {
  seq: number;
}

/** A task that matches. */
export interface FoundTask {
  id: string;
  title: string;
  status: "blocked" | "cancelled" | "done" | "draft" | "in_progress" | "in_review" | "needs_input" | "partial" | "pending";
}

/** The tasks that match, the best first. */
export interface FoundTasks {
  tasks: FoundTask[];
}

/** A task in the graph. */
export interface GraphNode {
  id: string;
  title: string;
  status: "blocked" | "cancelled" | "done" | "draft" | "in_progress" | "in_review" | "needs_input" | "partial" | "pending";
  priority: number;
  kind: "bug" | "idea" | "task";
  feature: string | null;
  waits_for: number;
  blocks: number;
  is_ready: boolean;
  claimed_by: string | null;
  level: "" | "accepted" | "checked" | "merged" | "observed" | "said" | "waived";
}

/** The tasks and what they wait for. */
export interface GraphPage {
  nodes: GraphNode[];
  edges: [string, string][];
  cut: boolean;
  features: string[];
}

/** Which part of the graph is wanted. */
export interface GraphQuery {
  feature?: string;
  status?: ("blocked" | "cancelled" | "done" | "draft" | "in_progress" | "in_review" | "needs_input" | "partial" | "pending")[];
  root?: string;
  closed?: boolean;
  alone?: boolean;
}

/** A task that an agent works on. */
export interface HeldTask {
  id: string;
  title: string;
  since: string | null;
}

/** One fresh agent within a session: in a run, one attempt at a task, or one planner. */
export interface Iteration {
  session: string;
  number: number;
  plans?: string;
  task_started?: string | null;
  summary?: string;
  agent?: string;
  model?: string;
  outcome?: "" | "blocked" | "conflict" | "done" | "failed" | "limit" | "partial" | "question" | "repeating" | "review" | "stopped" | "unfinished" | "unproven";
  reason?: string;
  commit_id?: string;
  files?: number;
  seconds?: number;
  tokens?: number;
  cost?: number;
  currency?: string;
  started_at: string;
  ended_at?: string | null;
}

/** A project of this machine that the page can show. */
export interface KnownProject {
  key: string;
  name: string;
  place: string;
}

/** A run, how it stands, and what it took. */
export interface ListedRun {
  run: RunOverview;
  state: "ended" | "interrupted" | "paused" | "working";
  places: string[];
  workers: number;
  driven: number;
  waiting: number;
  tried: number;
  closed: number;
  working_on: string[];
  spent: SpendingLine | null;
}

/** One event, as a sentence. */
export interface LogEntry {
  seq: number;
  at: string;
  actor: string;
  actor_name: string;
  session: string | null;
  entity: string;
  entity_id: string;
  action: string;
  sentence: string;
  task: string | null;
  has_changes: boolean;
}

/** A kind of entity, and what was done with such. */
export interface LogKind {
  entity: string;
  actions: string[];
}

/** A part of the log, the newest events first. */
export interface LogPage {
  entries: LogEntry[];
  before: number | null;
  newest: number;
}

/** Which part of the log is wanted. What is empty does not restrict. */
export interface LogQuery {
  entity?: string;
  action?: string;
  actor?: string;
  about?: string;
  text?: string;
  since?: string | null;
  until?: string | null;
  before?: number | null;
  after?: number;
  limit?: number;
}

/** What the log can be filtered by. */
export interface LogWords {
  kinds: LogKind[];
  actors: [string, string][];
}

/** A message for the agents of a run, or for one of them by its session. */
export interface MessageRun {
  run: string;
  text: string;
}

/** The arguments of what needs none. */
export type NoArguments = Record<never, never>;

/** An error as the page gets it. */
export interface PageError {
  code: string;
  message: string;
  hint: string;
}

/** An entry, and where it is. */
export interface PlacedEntry {
  offset: number;
  entry: TranscriptEntry;
  cut: Record<string, number>;
}

/** The number of tasks, by state. */
export interface ProjectOverview {
  tasks: number;
  ready: number;
  waiting: number;
  by_status: Record<string, number>;
  queued: number;
  proof: ClosedCount;
}

/** A project that the page shows. */
export interface ProjectSummary {
  key: string;
  name: string;
  place: string;
  person: string;
  is_readonly: boolean;
  is_shared: boolean;
  overview: ProjectOverview;
  needs_you: number;
  cursor: number;
}

/** Every project that the page shows or can show. */
export interface ProjectsPage {
  version: string;
  is_readonly: boolean;
  projects: ProjectSummary[];
  broken: BrokenProject[];
  others: KnownProject[];
}

/** A change of a run that is not merged yet. */
export interface QueuedMerge {
  task_id: string;
  title: string;
  state: "accepted" | "conflict" | "settling";
  since: string;
  session: string;
  commit: string;
  reason: string;
}

/** The stale agents that were taken off the list. */
export interface ReapedAgents {
  reaped: ReapedPageAgent[];
}

/** A stale agent whose registration was ended. */
export interface ReapedPageAgent {
  id: string;
  name: string;
  how: string;
  released: string[];
}

/** An agent as a list shows it. */
export interface RegisteredAgent {
  id: string;
  name: string;
  type: string;
  status: string;
  alive: boolean | null;
  registered: string;
  client: string;
  session: string | null;
  host: string;
  pid: number | null;
  parent_pid: number | null;
  current_task: string | null;
  created_at: string;
  active_at: string;
}

/** An iteration of a run: an attempt at a task, or a planner. */
export interface RunAttempt {
  iteration: Iteration;
  title: string;
  status: string;
}

/** One run with everything that happens in it, but for what its agents say. */
export interface RunDetails {
  listed: ListedRun;
  has_specification: boolean;
  workers: RunWorker[];
  attempts: RunAttempt[];
  attempts_total: number;
  merges: QueuedMerge[];
  is_merging: boolean;
  merged: number;
  waiting: Attention[];
  budget: BudgetUse[];
  by_agent: SpendingLine[];
  by_model: SpendingLine[];
}

/** What was changed in a run, newest first. */
export interface RunEventsPage {
  events: Event[];
  has_more: boolean;
}

/** Which events of a run. */
export interface RunEventsQuery {
  run: string;
  before?: number;
  limit?: number;
}

/** A run in a list: without its specification. */
export interface RunOverview {
  id: string;
  name: string;
  feature: string | null;
  asked_file: string;
  base: string;
  branch: string;
  head: string;
  remote: string;
  status: "active" | "ended";
  why: string;
  said: string;
  is_paused: boolean;
  budget: Record<string, number>;
  seconds: number;
  created_at: string;
  ended_at: string | null;
}

/** One run. */
export interface RunPage {
  details: RunDetails;
  here: string[];
}

/** Which run, by its id, its name or one of its sessions. */
export interface RunQuery {
  run: string;
  attempts?: number;
}

/** What a run was asked for. */
export interface RunSpecification {
  file: string;
  text: string;
  total: number;
}

/** What was asked of a run. */
export interface RunSteeringResult {
  run: string;
  name: string;
  sessions: string[];
  said: string;
}

/** A worker of a run: a session that a process on some machine drives, or drove. */
export interface RunWorker {
  number: number;
  session: string;
  place: string;
  is_driven: boolean;
  task_id: string | null;
  title: string;
  iteration: Iteration | null;
  stage: "planning" | "resting" | "settling" | "working";
}

/** The newest runs, newest first. */
export interface RunsPage {
  runs: ListedRun[];
  has_more: boolean;
}

/** Which runs to list. */
export interface RunsQuery {
  before?: string;
  limit?: number;
}

/** One server as it is listed, without secrets: the text as written, with literal secrets masked. */
export interface ServerRow {
  name: string;
  transport: string;
  target: string;
  source: string;
  kind: string;
  enabled: boolean;
  trusted: boolean;
  lazy: boolean;
  pin: string;
  auth: string;
  env: string[];
  headers: string[];
  problems: ConfigProblem[];
  held_back: string[];
}

/** A planned session in the store: one run or one client, with its plan. */
export interface SessionRecord {
  id: string;
  name?: string;
  recipe?: string;
  discipline?: string | null;
  feature?: string | null;
  task_id?: string | null;
  status?: "aborted" | "active" | "complete";
  reason?: string;
  run?: string | null;
  place?: string;
  created_at: string;
  ended_at?: string | null;
}

/** What the iterations with one key took. */
export interface SpendingLine {
  key: string;
  title?: string;
  iterations: number;
  seconds: number;
  tokens?: number | null;
  cost?: Record<string, number>;
  iterations_with_tokens?: number;
  iterations_with_cost?: number;
}

/** A run, by its id, its name or one of its sessions. */
export interface SteerRun {
  run: string;
}

/** Enables or disables a server in its file. */
export interface SwitchUpstream {
  name: string;
  enabled: boolean;
}

/** A server whose entry was changed. */
export interface SwitchedUpstream {
  name: string;
  enabled: boolean;
  file: string;
  is_changed: boolean;
}

/** The beginning of an id, or words of a task. */
export interface TaskSearch {
  text: string;
  limit?: number;
}

/** A tool of a server, for people and programs that look for one. */
export interface ToolSummary {
  name: string;
  shown: string;
  server: string;
  tool: string;
  description: string;
  tokens: number;
}

/** A message of a topic that the page watches. The `message` is of the topic's type. */
export interface TopicMessage {
  project: string;
  what: string;
  message?: unknown;
  error?: PageError | null;
  is_over?: boolean;
}

/** One thing that was said or done. Which fields are set follows from its kind. */
export interface TranscriptEntry {
  at: string;
  iteration: number;
  kind: string;
  text?: string;
  id?: string;
  title?: string;
  tool?: string;
  status?: string;
  paths?: string[];
  input?: string;
  output?: string;
  diff?: string;
  steps?: [string, string][];
  used?: number | null;
  size?: number | null;
  cost?: number | null;
  tokens?: number | null;
  is_allowed?: boolean | null;
  by?: string;
}

/** An entry of a transcript. */
export interface TranscriptEntryQuery {
  session: string;
  offset: number;
}

/** A place in a transcript to jump to. */
export interface TranscriptMark {
  offset: number;
  at: string;
  iteration: number;
  kind: string;
}

/** The places of a transcript to jump to, in order. */
export interface TranscriptMarks {
  marks: TranscriptMark[];
}

/** The places of a transcript to jump to. */
export interface TranscriptMarksQuery {
  session: string;
}

/** A window of a transcript: from an offset on, or the last one before an offset, or the last one of all. */
export interface TranscriptQuery {
  session: string;
  start?: number | null;
  before?: number | null;
}

/** Entries that follow each other. */
export interface TranscriptWindow {
  entries: PlacedEntry[];
  start: number;
  end: number;
  size: number;
}

/** A server and its state. */
export interface UpstreamEntry {
  server: ServerRow;
  disciplines: string[];
  state: "awaiting_trust" | "connecting" | "degraded" | "disabled" | "failed" | "needs_login" | "ready" | "broken" | "untested";
  standing: string;
  reason: string;
  hint: string;
  state_from: "configured" | "live" | "tested";
  at: string | null;
  next_retry: string | null;
  connect_ms: number | null;
  latency_ms: number | null;
  tools: number | null;
  tools_are_old: boolean;
  tokens: number | null;
  version: string;
  notes: string[];
  is_testing: boolean;
  changed_tools: number;
  trust: "changed" | "new" | "trusted" | "not needed";
}

/** A server that a person signed in to, and where the login is kept. */
export interface UpstreamLoggedIn {
  name: string;
  kept: string;
}

/** A server that a person signed out of. */
export interface UpstreamLoggedOut {
  name: string;
  was_there: boolean;
  still_good: string;
}

/** Names a server. */
export interface UpstreamName {
  name: string;
}

/** Everything about a server. */
export interface UpstreamPage {
  entry: UpstreamEntry;
  trust: UpstreamTrust | null;
  changes: ChangedUpstreamTool[];
  seen: string;
  tools: ToolSummary[];
  log: string[];
  log_file: string;
  login: string[];
}

/** What exactly a person would trust, and how it differs from what was trusted before. */
export interface UpstreamTrust {
  key: string;
  state: "changed" | "new" | "trusted";
  place: string;
  does: string;
  sha256: string;
  content: string;
  changes: string[];
  trusted_by: string;
  trusted_at: string;
}

/** All servers, and what is wrong in files without being about one of them. */
export interface UpstreamsPage {
  servers: UpstreamEntry[];
  problems: ConfigProblem[];
  is_serving: boolean;
}

/** What the navigation shows beside the names of views. */
export interface ViewCounts {
  needs_you: number;
  open_tasks: number;
  runs: number;
  reviews: number;
  agents: number;
}

/** An agent, where it is, and what it works on. */
export interface WorkingAgent {
  agent: RegisteredAgent;
  process: string;
  folder: string;
  purpose: string;
  tasks: HeldTask[];
  recipe: string;
  run: string;
  ended_at: string | null;
}

/** What the page can read, by name. */
export interface Reads {
  agents: { asked: NoArguments; answer: AgentsPage };
  event_changes: { asked: EventNumber; answer: EventChanges };
  graph: { asked: GraphQuery; answer: GraphPage };
  log: { asked: LogQuery; answer: LogPage };
  log_words: { asked: NoArguments; answer: LogWords };
  project: { asked: NoArguments; answer: ProjectSummary };
  run: { asked: RunQuery; answer: RunPage };
  run_events: { asked: RunEventsQuery; answer: RunEventsPage };
  run_specification: { asked: RunQuery; answer: RunSpecification };
  runs: { asked: RunsQuery; answer: RunsPage };
  search_tasks: { asked: TaskSearch; answer: FoundTasks };
  transcript: { asked: TranscriptQuery; answer: TranscriptWindow };
  transcript_entry: { asked: TranscriptEntryQuery; answer: CompleteEntry };
  transcript_marks: { asked: TranscriptMarksQuery; answer: TranscriptMarks };
  upstream: { asked: UpstreamName; answer: UpstreamPage };
  upstreams: { asked: NoArguments; answer: UpstreamsPage };
  view_counts: { asked: NoArguments; answer: ViewCounts };
}

/** What a person can do on the page, by name. */
export interface Actions {
  accept_tools: { asked: AcceptTools; answer: AcceptedUpstreamTools };
  answer_attention: { asked: AnswerAttention; answer: AnsweredEntry };
  end_agent: { asked: EndAgent; answer: EndedAgent };
  log_in_upstream: { asked: UpstreamName; answer: UpstreamLoggedIn };
  log_out_upstream: { asked: UpstreamName; answer: UpstreamLoggedOut };
  message_run: { asked: MessageRun; answer: RunSteeringResult };
  pause_run: { asked: SteerRun; answer: RunSteeringResult };
  reap_agents: { asked: NoArguments; answer: ReapedAgents };
  resume_run: { asked: SteerRun; answer: RunSteeringResult };
  stop_run: { asked: SteerRun; answer: RunSteeringResult };
  switch_upstream: { asked: SwitchUpstream; answer: SwitchedUpstream };
  test_upstream: { asked: UpstreamName; answer: UpstreamEntry };
}

/** What the page can watch, by name: the type of the messages. */
export type Topics = Record<never, never>;
