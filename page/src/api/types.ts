// Made from the Python structs by `make page`. Do not edit: change src/binnacle/web/api/ instead.

/** That a person accepts exactly what they saw. */
export interface AcceptReview {
  review: string;
  commit: string;
  tree: string;
  message?: string;
}

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

/** A comment on a line of the reviewed commit, on a file (line 0), or on the whole change (no path). */
export interface AddRemark {
  review: string;
  path?: string;
  line?: number;
  body: string;
}

/** A task to add. */
export interface AddTask {
  title: string;
  description?: string;
  kind?: "bug" | "idea" | "task";
  priority?: number;
  status?: "draft" | "pending";
  feature?: string;
  discipline?: string;
  tags?: string[];
  acceptance_criteria?: string[];
  depends_on?: string[];
}

/** The agents, those that ended last, and the newest sessions. */
export interface AgentsPage {
  agents: WorkingAgent[];
  ended: WorkingAgent[];
  sessions: SessionRecord[];
  cut: boolean;
}

/** The answer of a person: yes, no or always to a permission, words or an option to a question, none to an end. */
export interface AnswerCause {
  id: string;
  answer?: string;
}

/** An answer that was kept. */
export interface AnsweredCause {
  id: string;
  answer: string;
  answered_by: string;
  task_id: string;
  task_status: "blocked" | "cancelled" | "done" | "draft" | "in_progress" | "in_review" | "needs_input" | "partial" | "pending" | null;
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

/** A task on a board. */
export interface BoardCard {
  id: string;
  title: string;
  status: "blocked" | "cancelled" | "done" | "draft" | "in_progress" | "in_review" | "needs_input" | "partial" | "pending";
  kind: "bug" | "idea" | "task";
  priority: number;
  feature: string;
  tags: string[];
  holder: string;
  holder_id: string;
  cost: Record<string, number>;
  tokens: number;
  level: "" | "accepted" | "checked" | "merged" | "observed" | "said" | "waived";
  blocked_by: number;
  questions: number;
  queue_position: number | null;
  since: string;
}

/** What a board can be filtered by, and what a new task may have. */
export interface BoardChoices {
  features: string[];
  disciplines: string[];
  agents: string[];
  tags: string[];
}

/** The tasks of one status: how many there are, and a window of them. */
export interface BoardColumn {
  status: "blocked" | "cancelled" | "done" | "draft" | "in_progress" | "in_review" | "needs_input" | "partial" | "pending";
  is_unproven: boolean;
  total: number;
  offset: number;
  cards: BoardCard[];
}

/** The columns of the board, each with its first cards. */
export interface BoardPage {
  columns: BoardColumn[];
  total: number;
}

/** Which tasks to show, and how many cards of each column. */
export interface BoardQuery {
  text?: string;
  feature?: string;
  discipline?: string;
  agent?: string;
  tag?: string;
  level?: "" | "accepted" | "checked" | "merged" | "observed" | "said" | "waived";
  priority?: number | null;
  limit?: number;
}

/** A task in a list: what a reader needs to choose it, not to do it. */
export interface Brief {
  id: string;
  title: string;
  status: "blocked" | "cancelled" | "done" | "draft" | "in_progress" | "in_review" | "needs_input" | "partial" | "pending";
  priority: number;
  kind?: "bug" | "idea" | "task";
  feature?: string | null;
  discipline?: string | null;
  tags?: string[];
  covers?: string[];
  waits_for?: number;
  claimed_by?: string | null;
  queued?: boolean;
  level?: "" | "accepted" | "checked" | "merged" | "observed" | "said" | "waived";
  commit?: string;
  proven_at?: string | null;
}

/** A file that cannot be read, so that nothing in it has an effect. */
export interface BrokenFile {
  message: string;
  hint: string;
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

/** Calls a tool as the person. */
export interface CallTool {
  name: string;
  arguments: string;
  is_confirmed?: boolean;
}

/** That a task which agents gave up is not to be done, and why. */
export interface CancelStuckTask {
  id: string;
  reason: string;
}

/** Another name of a tool, and what it takes under that name. */
export interface CatalogAlias {
  name: string;
  schema: string;
}

/** A recipe, and what its tools cost. */
export interface CatalogRecipe {
  name: string;
  aliases: string[];
  description: string;
  tools: number;
  tokens: number;
  has_upstreams: boolean;
}

/** A tool as a list shows it. */
export interface CatalogTool {
  name: string;
  title: string;
  category: string;
  summary: string;
  tokens: number;
  aliases: string[];
  server: string;
  is_reading: boolean;
  is_destructive: boolean;
  recipes: string[];
  limited: string[];
  can_call: boolean;
}

/** How something that waited was answered, and by whom. */
export interface CauseAnswer {
  id: string;
  kind: "ended" | "permission" | "question" | "review" | "stuck";
  title: string;
  answer: string;
  answered_by: string;
  answered_at: string | null;
}

/** How they were answered, as far as they are over. */
export interface CauseAnswers {
  answers: CauseAnswer[];
}

/** Causes that the page has shown. */
export interface CausesAsked {
  ids: string[];
}

/** Something that a change does to what judges it. */
export interface ChangeFinding {
  kind: "base_test_fails" | "checks_changed" | "ci_changed" | "coverage_changed" | "fewer_assertions" | "fixture_changed" | "lint_changed" | "lock_changed" | "outside_link" | "runner_patched" | "snapshot_rewritten" | "test_added" | "test_changed" | "test_narrowed" | "test_not_run" | "test_removed" | "test_skipped" | "threshold_lowered";
  path: string;
  line?: number;
  text?: string;
}

/** Events of one project, in their order; or that the page has to read everything again. */
export interface ChangeMessage {
  project: string;
  cursor: number;
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

/** What the store knows of the last days. */
export interface ChartsPage {
  days: WorkDay[];
  statuses: TimeInStatus;
  by_day: SpendingLine[];
  by_agent: SpendingLine[];
  by_model: SpendingLine[];
  by_recipe: SpendingLine[];
  total: SpendingLine;
}

/** How far back to look. */
export interface ChartsQuery {
  days?: number;
}

/** What the checks of a task do now. */
export interface CheckProgress {
  text: string;
  is_over: boolean;
}

/** A comment. */
export interface ChosenRemark {
  id: string;
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

/** A window of one column. */
export interface ColumnQuery {
  text?: string;
  feature?: string;
  discipline?: string;
  agent?: string;
  tag?: string;
  level?: "" | "accepted" | "checked" | "merged" | "observed" | "said" | "waived";
  priority?: number | null;
  limit?: number;
  status: "blocked" | "cancelled" | "done" | "draft" | "in_progress" | "in_review" | "needs_input" | "partial" | "pending";
  is_unproven?: boolean;
  offset?: number;
}

/** A comment on a task. All comments together are the history of its attempts. */
export interface Comment {
  id: string;
  task_id: string;
  author: string;
  discipline?: string | null;
  body: string;
  created_at: string;
  updated_at: string;
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

/** An order, with the command that the person has seen. */
export interface ConfirmedOrder {
  order: RunOrder;
  command: string;
}

/** An acceptance criterion that names a check or a test, and what that said. */
export interface CriterionProof {
  text: string;
  check?: string;
  test?: string;
  state?: "failed" | "open" | "proven";
  commit?: string;
  reason?: string;
}

/** What a reviewer says about one acceptance criterion. */
export interface CriterionVerdict {
  criterion: string;
  met: boolean;
  place?: string;
  note?: string;
}

/** A decision that was kept, and what followed. */
export interface DecidedReview {
  review: string;
  status: "accepted" | "changes" | "open" | "replaced" | "withdrawn";
  commit: string;
  task: Brief;
  sent: number;
  unblocked: string[];
  notes: string[];
  missing: string;
}

/** A task to delete. */
export interface DeleteTask {
  id: string;
}

/** One line of a difference. */
export interface DiffLine {
  kind: "added" | "hunk" | "note" | "removed" | "same";
  old?: number;
  new?: number;
  text: string;
  cut?: number;
}

/** What a draft says now. */
export interface EditRemark {
  id: string;
  body: string;
}

/** New values of some fields of a task. */
export interface EditTask {
  id: string;
  changes: Record<string, string | number | string[] | null>;
  seen: number;
}

/** A task after a change. */
export interface EditedTask {
  id: string;
  title: string;
  status: "blocked" | "cancelled" | "done" | "draft" | "in_progress" | "in_review" | "needs_input" | "partial" | "pending";
  seen: number;
}

/** Something of the project that a run would use, and whether it has an effect. */
export interface EffectOfTrust {
  key: string;
  does: string;
  place: string;
  state: string;
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

/** A run that ended, and how it goes on. */
export interface EndedRun {
  id: string;
  name: string;
  why: string;
  resume: string;
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

/** The result of one check on one tree. */
export interface Evidence {
  id: string;
  check_name: string;
  definition: string;
  commit_id: string;
  tree: string;
  base?: string;
  environment?: string;
  environment_summary?: string;
  verdict: "could_not_run" | "fail" | "flaky" | "pass" | "timeout";
  reason?: string;
  exit_code?: number | null;
  ran?: number | null;
  passed?: string[];
  failed?: string[];
  new_failed?: string[];
  old_failed?: string[];
  flaky?: string[];
  decision?: "allow" | "ask" | "refuse";
  findings?: ChangeFinding[];
  seconds?: number;
  log?: string;
  log_bytes?: number;
  log_excerpt?: string;
  machine?: string;
  asked_by?: string;
  task_id?: string | null;
  run?: string | null;
  session?: string | null;
  tier?: "fast" | "full";
  is_merged?: boolean;
  is_bug?: boolean;
  created_at: string;
}

/** What a check wrote. */
export interface EvidenceLog {
  id: string;
  text: string;
  left_out: number;
}

/** The result of a check. */
export interface EvidenceQuery {
  id: string;
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

/** An acceptance criterion, and what shows it. */
export interface JudgedCriterion {
  number: number;
  text: string;
  shown_by?: string;
}

/** What was ordered of a run. */
export interface KnownOrder {
  order: RunOrder | null;
}

/** A project of this machine that the page can show. */
export interface KnownProject {
  key: string;
  name: string;
  place: string;
}

/** What an agent did last for a task. */
export interface LatestStep {
  task_id: string;
  text: string;
  at: string;
}

/** What the agents that work did last. */
export interface LatestSteps {
  steps: LatestStep[];
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

/** Moves a task to a status. */
export interface MoveTask {
  id: string;
  status: "blocked" | "cancelled" | "done" | "draft" | "in_progress" | "in_review" | "needs_input" | "partial" | "pending";
  reason?: string;
  blocked_on?: string;
  waive?: string;
  force?: boolean;
  seen?: number | null;
}

/** A task after a move. */
export interface MovedTask {
  id: string;
  status: "blocked" | "cancelled" | "done" | "draft" | "in_progress" | "in_review" | "needs_input" | "partial" | "pending";
  unblocked: string[];
  warnings: string[];
  checks: string[];
}

/** How many things wait for a person. */
export interface NeedsCount {
  count: number;
}

/** Everything that waits for a person. */
export interface NeedsYou {
  causes: OpenCause[];
  trust: TrustCause | null;
  logins: WaitingLogin[];
  count: number;
}

/** The arguments of what needs none. */
export type NoArguments = Record<never, never>;

/** A command that an agent ran, and how its client says that it ended. */
export interface ObservedCommand {
  command: string;
  exit_code: number;
}

/** An agent that is known by name. */
export interface OfferedAgent {
  name: string;
  is_installed: boolean;
  install: string;
}

/** One thing that waits for a person. */
export interface OpenCause {
  id: string;
  kind: "ended" | "permission" | "question" | "review" | "stuck";
  title: string;
  body?: string;
  at: string;
  agent?: string;
  session?: string;
  run?: string;
  task?: Brief | null;
  description?: string;
  options?: string[];
  preferred?: string;
  is_blocking?: boolean;
  attempts?: TriedAttempt[];
  attempts_total?: number;
  last_words?: string;
  checks?: TriedCheck[];
  findings?: number;
  review?: ReviewEntry | null;
  tree?: string;
  ended?: EndedRun | null;
}

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

/** Runs the checks of a task that was called done. */
export interface ProveTask {
  id: string;
}

/** What the checks of a task led to. */
export interface ProvenTask {
  id: string;
  status: "blocked" | "cancelled" | "done" | "draft" | "in_progress" | "in_review" | "needs_input" | "partial" | "pending";
  is_done: boolean;
  missing: string;
  unblocked: string[];
}

/** What an agent asks people about its task. */
export interface Question {
  id: string;
  task_id: string;
  session?: string | null;
  text: string;
  options?: string[];
  preferred?: string;
  blocking: boolean;
  asked_by: string;
  created_at: string;
  answer?: string;
  answered_by?: string | null;
  answered_at?: string | null;
}

/** Puts a task into the queue, or takes it out. */
export interface QueueTask {
  id: string;
  place?: string;
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

/** The queue in order. */
export interface QueuedTasks {
  ids: string[];
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

/** That a person asks for changes. Their drafts are sent with it. */
export interface RejectReview {
  review: string;
  commit: string;
  message?: string;
  kept_files?: string[];
}

/** What a reader needs to know about a related task. */
export interface RelatedTask {
  id: string;
  title: string;
  status: "blocked" | "cancelled" | "done" | "draft" | "in_progress" | "in_review" | "needs_input" | "partial" | "pending";
  reason?: string;
}

/** What an agent reported about its task. */
export interface Report {
  id: string;
  session?: string | null;
  task_id: string;
  kind: "blocked" | "done" | "flag" | "learning" | "partial" | "question" | "stuck" | "suggestion";
  body: Record<string, unknown>;
  author: string;
  created_at: string;
  settled_at?: string | null;
  outcome?: "" | "blocked" | "done" | "left" | "needs_input" | "pending" | "superseded";
  note?: string;
}

/** What became of the last time that a task was called done. */
export interface RequestState {
  report: string;
  state: "granted" | "refused" | "waiting";
  asked_by: string;
  asked_at: string;
  settled_at?: string | null;
  commit?: string;
  reason?: string;
}

/** A part of a result. */
export interface ResultPart {
  kind: string;
  text: string;
  note: string;
  is_cut: boolean;
}

/** That a change waits for somebody to look at it, or what came of that. */
export interface Review {
  id: string;
  number?: number;
  task_id: string;
  commit_id: string;
  tree: string;
  base?: string;
  run?: string | null;
  session?: string | null;
  round?: number;
  require: "agent" | "both" | "none" | "person";
  reasons?: string[];
  reviewers?: number;
  rounds?: number;
  handed_over?: string;
  evidence?: string[];
  proof?: Record<string, unknown>;
  status: "accepted" | "changes" | "open" | "replaced" | "withdrawn";
  asked_by?: string;
  created_at: string;
  ended_at?: string | null;
}

/** A review as one line of a list. */
export interface ReviewEntry {
  task_id: string;
  title: string;
  priority: number;
  review?: string;
  state: string;
  waits_for?: string[];
  reasons?: string[];
  round?: number;
  level?: "" | "accepted" | "checked" | "merged" | "observed" | "said" | "waived";
  commit?: string;
  run?: string;
  at: string;
}

/** Which files differ between two commits: those first that judge the change. */
export interface ReviewFiles {
  commit: string;
  before: string;
  since: string;
  files: ReviewedFile[];
  total: number;
  added: number;
  removed: number;
  left_out: number;
  problem: string;
  run: string;
  run_status: string;
  commits: string[];
  places: Record<string, number>;
}

/** The code of a change, or of everything that a run did. */
export interface ReviewFilesQuery {
  subject?: string;
  run?: string;
  since?: string;
  limit?: number;
  offset?: number;
}

/** These lines, and how many there are. */
export interface ReviewLines {
  lines: DiffLine[];
  total: number;
  problem: string;
}

/** Some lines of how one file differs between two commits. */
export interface ReviewLinesQuery {
  commit: string;
  before?: string;
  path: string;
  was?: string;
  context?: number;
  offset?: number;
  limit?: number;
}

/** Some of the reviews, and how many there are. */
export interface ReviewListPage {
  reviews: ReviewEntry[];
  total: number;
}

/** Which reviews: those that wait, or all. */
export interface ReviewListQuery {
  all?: boolean;
  limit?: number;
  offset?: number;
}

/** A change with everything that is known of it besides its code. */
export interface ReviewPage {
  task: ReviewedTask;
  level: "" | "accepted" | "checked" | "merged" | "observed" | "said" | "waived";
  waits_for: string[];
  review: Review | null;
  run: string;
  findings: ChangeFinding[];
  checks: ReviewedCheck[];
  criteria: JudgedCriterion[];
  verdicts: ShownVerdict[];
  remarks: ShownRemark[];
  newest?: string;
  previous?: string;
  viewer: string;
}

/** A change: its task or its review. */
export interface ReviewQuery {
  subject: string;
}

/** A comment on a change, at a place of it. */
export interface ReviewRemark {
  id: string;
  review: string;
  task_id: string;
  author: string;
  is_by_person?: boolean;
  commit_id: string;
  path?: string;
  line?: number;
  code?: string;
  body: string;
  state?: "addressed" | "draft" | "outdated" | "seen" | "sent";
  settled_commit?: string;
  created_at: string;
  sent_at?: string | null;
  seen_at?: string | null;
  settled_at?: string | null;
}

/** What a check said about the change. */
export interface ReviewedCheck {
  evidence: string;
  name: string;
  verdict: string;
  words: string;
  commit: string;
  at: string;
  ran?: number | null;
  failed?: string[];
  log?: string;
  excerpt?: string;
}

/** What a change does to one file, without its lines. */
export interface ReviewedFile {
  path: string;
  before?: string;
  status: string;
  note?: string;
  folded?: string;
  added?: number;
  removed?: number;
  protects?: "binnacle" | "ci" | "coverage" | "fixture" | "lint" | "lock" | "runner" | "snapshot" | "test" | null;
}

/** The task of a change. */
export interface ReviewedTask {
  id: string;
  title: string;
  status: "blocked" | "cancelled" | "done" | "draft" | "in_progress" | "in_review" | "needs_input" | "partial" | "pending";
  description?: string;
}

/** An iteration of a run: an attempt at a task, or a planner. */
export interface RunAttempt {
  iteration: Iteration;
  title: string;
  status: string;
}

/** What can be chosen for a run. */
export interface RunChoices {
  agents: OfferedAgent[];
  models: string[];
  features: string[];
  files: string[];
  agent: string;
  model: string;
  approve: string;
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
  entries: LogEntry[];
  has_more: boolean;
}

/** Which events of a run. */
export interface RunEventsQuery {
  run: string;
  before?: number;
  limit?: number;
}

/** What a person asks of a run that is started for them. */
export interface RunOrder {
  name?: string;
  specification?: string;
  spec_file?: string;
  tasks?: string[];
  feature?: string;
  agent?: string;
  model?: string;
  workers?: number;
  worktree?: boolean;
  approve?: "all" | "ask" | "edits" | "none" | null;
  iterations?: number | null;
  minutes?: number | null;
  tokens?: number | null;
  cost?: number | null;
  resume?: boolean;
  allow_gaps?: boolean;
}

/** The name of a run that is to be resumed. */
export interface RunOrderQuery {
  run: string;
}

/** An order whose effect is asked for. */
export interface RunOrderToPreview {
  order: RunOrder;
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

/** Which run, by its id, its name or one of its sessions. */
export interface RunReportQuery {
  run: string;
}

/** What a run was asked for. */
export interface RunSpecification {
  file: string;
  text: string;
  total: number;
}

/** What starting a run would do. */
export interface RunStartPreview {
  command: string;
  folder: string;
  agent: string;
  approve: string;
  trust: EffectOfTrust[];
  changed_files: string[];
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

/** An item, and the content that the person saw. */
export interface SeenContent {
  key: string;
  sha256: string;
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

/** The report of a run as a page that needs nothing else. */
export interface SharedRunReport {
  file: string;
  html: string;
}

/** A comment on the change, and what became of it. */
export interface ShownRemark {
  id: string;
  state: string;
  author: string;
  by_person: boolean;
  place: string;
  commit: string;
  body: string;
  at: string;
  code?: string;
  settled_commit?: string;
}

/** What a reviewer said. */
export interface ShownVerdict {
  id: string;
  review: string;
  author: string;
  by_person: boolean;
  decision: string;
  message: string;
  commit: string;
  is_current: boolean;
  criteria: CriterionVerdict[];
  at: string;
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

/** A run that was started, and what it printed. */
export interface StartedRun {
  id: string;
  name: string;
  command: string;
  started_at: string;
  is_alive: boolean;
  output: string;
  error: string;
  hint: string;
}

/** A run that was started. */
export interface StartedRunQuery {
  id: string;
}

/** How long tasks were in a status. */
export interface StatusTime {
  status: string;
  times: number;
  seconds: number;
  median_seconds: number;
  longest_seconds: number;
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

/** A piece of work in the store. */
export interface Task {
  title: string;
  description?: string;
  kind: "bug" | "idea" | "task";
  priority: number;
  feature?: string | null;
  discipline?: string | null;
  parent?: string | null;
  acceptance_criteria?: string[];
  context_files?: string[];
  hints?: string;
  pseudocode?: string;
  output_artifacts?: string[];
  estimated_turns?: number | null;
  tags?: string[];
  covers?: string[];
  checks?: string[];
  provenance?: "agent" | "human" | "system";
  id: string;
  number: number;
  status: "blocked" | "cancelled" | "done" | "draft" | "in_progress" | "in_review" | "needs_input" | "partial" | "pending";
  open_dependencies?: number;
  queue_position?: number | null;
  claimed_by?: string | null;
  claim_expires_at?: string | null;
  fence?: number;
  closed_reason?: string;
  created_at: string;
  updated_at: string;
  closed_at?: string | null;
  enriched_at?: string | null;
  evidence_level?: "" | "accepted" | "checked" | "merged" | "observed" | "said" | "waived";
  evidence_commit?: string;
  evidence_at?: string | null;
}

/** The closing report of one session, with its outcome. */
export interface TaskAttempt {
  report: Report;
  said: string;
}

/** A comment to add. */
export interface TaskComment {
  id: string;
  body: string;
}

/** That a task waits for another one, or no longer does. */
export interface TaskDependency {
  id: string;
  on: string;
  reason?: string;
}

/** A task and everything related to it. */
export interface TaskDetails {
  task: Task;
  depends_on?: RelatedTask[];
  dependents?: RelatedTask[];
  parts?: RelatedTask[];
  comments?: Comment[];
  questions?: Question[];
  evidence?: Evidence[];
  criteria?: CriterionProof[];
  observed?: ObservedCommand[];
  waivers?: Waiver[];
  review?: Review | null;
  remarks?: ReviewRemark[];
  needs?: string[];
  request?: RequestState | null;
}

/** A task as a page that needs nothing else, to be kept or sent. */
export interface TaskFile {
  name: string;
  html: string;
}

/** A task with everything about it. */
export interface TaskPage {
  details: TaskDetails;
  criteria: CriterionProof[];
  attempts: Iteration[];
  tried: TaskAttempt[];
  runs: Record<string, string>;
  names: Record<string, string>;
  seen: number;
}

/** A task, by its id or the beginning of it. */
export interface TaskQuery {
  id: string;
}

/** The beginning of an id, or words of a task. */
export interface TaskSearch {
  text: string;
  limit?: number;
}

/** How long tasks were in each status, and from when on that is known. */
export interface TimeInStatus {
  statuses: StatusTime[];
  since: string | null;
  is_complete: boolean;
}

/** What a call led to. */
export interface ToolCallResult {
  is_error: boolean;
  parts: ResultPart[];
  structured: string;
  milliseconds: number;
}

/** An error that a tool may answer with, and when. */
export interface ToolFailure {
  code: string;
  when: string;
}

/** Whether a recipe has a tool, and why. */
export interface ToolInRecipe {
  recipe: string;
  enabled: boolean;
  why: string;
}

/** Names a tool, by any of its names. */
export interface ToolName {
  name: string;
  discipline?: string;
}

/** Everything about a tool. */
export interface ToolPage {
  tool: CatalogTool;
  description: string;
  when_to_use: string;
  schema: string;
  output_schema: string;
  aliases: CatalogAlias[];
  failures: ToolFailure[];
  prerequisites: string[];
  timeout: number | null;
  is_idempotent: boolean;
  recipes: ToolInRecipe[];
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

/** The calls of one kind of tool. */
export interface ToolTime {
  kind: string;
  calls: number;
  failed: number;
  median_seconds: number;
  slow_seconds: number;
  longest_seconds: number;
}

/** The calls of agents, by kind, and what they were counted from. */
export interface ToolTimes {
  tools: ToolTime[];
  sessions: number;
  is_complete: boolean;
}

/** The catalog, and what each recipe has of it. */
export interface ToolsPage {
  tools: CatalogTool[];
  recipes: CatalogRecipe[];
  disciplines: string[];
  tested: string[];
}

/** For whom the tools are wanted. */
export interface ToolsQuery {
  discipline?: string;
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

/** An attempt of a run at a task, as far as a person who decides has to know it. */
export interface TriedAttempt {
  at: string;
  agent?: string;
  outcome?: "" | "blocked" | "conflict" | "done" | "failed" | "limit" | "partial" | "question" | "repeating" | "review" | "stopped" | "unfinished" | "unproven";
  reason?: string;
  commit?: string;
  seconds?: number;
  cost?: number;
  currency?: string;
}

/** What a check said, with the part of its log that shows why. */
export interface TriedCheck {
  evidence: string;
  name: string;
  verdict: "could_not_run" | "fail" | "flaky" | "pass" | "timeout";
  words: string;
  commit: string;
  at: string;
  excerpt?: string;
  failed?: string[];
}

/** Everything in a project that waits for trust. */
export interface TrustCause {
  items: WaitingTrust[];
  problems: BrokenFile[];
}

/** What a person trusts. */
export interface TrustItems {
  items: SeenContent[];
}

/** What is trusted now, by key. */
export interface TrustedItems {
  keys: string[];
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
  newest_need: string;
  open_tasks: number;
  runs: number;
  reviews: number;
  agents: number;
}

/** A server that wants a login and has none. */
export interface WaitingLogin {
  server: string;
  url: string;
  command: string;
}

/** Something that has no effect until a person trusts exactly this content. */
export interface WaitingTrust {
  key: string;
  kind: "check" | "hook" | "recipe" | "script" | "server" | "setting" | "template";
  state: "changed" | "new" | "trusted";
  place: string;
  does: string;
  sha256: string;
  content: string;
  changes: string[];
  trusted_by: string;
}

/** That a person closed a task without its checks. */
export interface Waiver {
  id: string;
  task_id: string;
  waived_by: string;
  reason: string;
  checks?: string[];
  created_at: string;
}

/** What happened on one day (UTC). */
export interface WorkDay {
  day: string;
  added: number;
  done: number;
  proven: number;
  cancelled: number;
  open: number;
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
  board: { asked: BoardQuery; answer: BoardPage };
  board_choices: { asked: NoArguments; answer: BoardChoices };
  board_column: { asked: ColumnQuery; answer: BoardColumn };
  cause_answers: { asked: CausesAsked; answer: CauseAnswers };
  charts: { asked: ChartsQuery; answer: ChartsPage };
  event_changes: { asked: EventNumber; answer: EventChanges };
  evidence_log: { asked: EvidenceQuery; answer: EvidenceLog };
  graph: { asked: GraphQuery; answer: GraphPage };
  latest_steps: { asked: NoArguments; answer: LatestSteps };
  log: { asked: LogQuery; answer: LogPage };
  log_words: { asked: NoArguments; answer: LogWords };
  needs_you: { asked: NoArguments; answer: NeedsYou };
  needs_you_count: { asked: NoArguments; answer: NeedsCount };
  project: { asked: NoArguments; answer: ProjectSummary };
  review: { asked: ReviewQuery; answer: ReviewPage };
  review_files: { asked: ReviewFilesQuery; answer: ReviewFiles };
  review_lines: { asked: ReviewLinesQuery; answer: ReviewLines };
  review_list: { asked: ReviewListQuery; answer: ReviewListPage };
  run: { asked: RunQuery; answer: RunPage };
  run_choices: { asked: NoArguments; answer: RunChoices };
  run_events: { asked: RunEventsQuery; answer: RunEventsPage };
  run_order: { asked: RunOrderQuery; answer: KnownOrder };
  run_report: { asked: RunReportQuery; answer: SharedRunReport };
  run_specification: { asked: RunQuery; answer: RunSpecification };
  runs: { asked: RunsQuery; answer: RunsPage };
  search_tasks: { asked: TaskSearch; answer: FoundTasks };
  started_run: { asked: StartedRunQuery; answer: StartedRun };
  task: { asked: TaskQuery; answer: TaskPage };
  task_file: { asked: TaskQuery; answer: TaskFile };
  tool: { asked: ToolName; answer: ToolPage };
  tool_times: { asked: ChartsQuery; answer: ToolTimes };
  tools: { asked: ToolsQuery; answer: ToolsPage };
  transcript: { asked: TranscriptQuery; answer: TranscriptWindow };
  transcript_entry: { asked: TranscriptEntryQuery; answer: CompleteEntry };
  transcript_marks: { asked: TranscriptMarksQuery; answer: TranscriptMarks };
  upstream: { asked: UpstreamName; answer: UpstreamPage };
  upstreams: { asked: NoArguments; answer: UpstreamsPage };
  view_counts: { asked: NoArguments; answer: ViewCounts };
}

/** What a person can do on the page, by name. */
export interface Actions {
  accept_review: { asked: AcceptReview; answer: DecidedReview };
  accept_tools: { asked: AcceptTools; answer: AcceptedUpstreamTools };
  add_comment: { asked: TaskComment; answer: EditedTask };
  add_dependency: { asked: TaskDependency; answer: EditedTask };
  add_remark: { asked: AddRemark; answer: ShownRemark };
  add_task: { asked: AddTask; answer: EditedTask };
  answer_cause: { asked: AnswerCause; answer: AnsweredCause };
  call_tool: { asked: CallTool; answer: ToolCallResult };
  cancel_stuck_task: { asked: CancelStuckTask; answer: AnsweredCause };
  delete_task: { asked: DeleteTask; answer: EditedTask };
  edit_remark: { asked: EditRemark; answer: ShownRemark };
  edit_task: { asked: EditTask; answer: EditedTask };
  end_agent: { asked: EndAgent; answer: EndedAgent };
  log_in_upstream: { asked: UpstreamName; answer: UpstreamLoggedIn };
  log_out_upstream: { asked: UpstreamName; answer: UpstreamLoggedOut };
  message_run: { asked: MessageRun; answer: RunSteeringResult };
  move_task: { asked: MoveTask; answer: MovedTask };
  pause_run: { asked: SteerRun; answer: RunSteeringResult };
  prove_task: { asked: ProveTask; answer: ProvenTask };
  queue_task: { asked: QueueTask; answer: QueuedTasks };
  reap_agents: { asked: NoArguments; answer: ReapedAgents };
  reject_review: { asked: RejectReview; answer: DecidedReview };
  remove_dependency: { asked: TaskDependency; answer: EditedTask };
  remove_remark: { asked: ChosenRemark; answer: ShownRemark };
  resume_run: { asked: SteerRun; answer: RunSteeringResult };
  run_start_preview: { asked: RunOrderToPreview; answer: RunStartPreview };
  settle_remark: { asked: ChosenRemark; answer: ShownRemark };
  start_run: { asked: ConfirmedOrder; answer: StartedRun };
  stop_run: { asked: SteerRun; answer: RunSteeringResult };
  switch_upstream: { asked: SwitchUpstream; answer: SwitchedUpstream };
  test_upstream: { asked: UpstreamName; answer: UpstreamEntry };
  trust_items: { asked: TrustItems; answer: TrustedItems };
}

/** What the page can watch, by name: the type of the messages. */
export interface Topics {
  task_checks: CheckProgress;
}
