/** Scripts about what programs did under the debugger, also long after: they read the recordings. */

import { Fault, type Job, type Values } from "../protocol";
import { noSession, quoted } from "./debug_errors";
import type { Body } from "./debug_target";
import type { Debugger, Script } from "./debugger";
import { type Line, Recorded } from "./recorded_session";
import { type Entry, numbers, recordings } from "./session_recorder";

const MILESTONES = ["session", "process", "stop", "exited", "terminated", "end", "unjoined"];
const CATEGORIES = ["categories", "sources", "timeRange", "include", "exclude"];

async function summary(_: Debugger, params: Body, job: Job): Promise<Values> {
  const record = load(job, params.sessionId, "E_INVALID_SESSION_ID");
  const exceptions = record.exceptions();
  const told = {
    sessionId: record.id,
    title: record.about.title ?? null,
    started: new Date(record.begun * 1000).toISOString().replace("Z", "+00:00"),
    seconds: rounded(record.lasted),
    exitCode: record.exitCode(),
    stops: record.of("stop").length,
    lines: record.lines().length,
    exceptions: exceptions.length,
  };
  if (params.compact) return told;
  return {
    ...told,
    adapter: record.about.adapter ?? null,
    events: counted(record.entries.map((one) => one.type)),
    lastStops: record
      .of("stop")
      .slice(-5)
      .map((one) => place(one.body)),
    lastException: exceptions.at(-1) ?? null,
    lastLines: record
      .lines()
      .slice(-5)
      .map((line) => line.text),
    sessions: numbers(recordings(job.workspace)).map(String),
  };
}

async function logs(_: Debugger, params: Body, job: Job): Promise<Values> {
  const record = load(job, params.sessionId);
  const since = moment(params.since, record, 0);
  const found = record
    .lines(params.category)
    .filter((line) => line.at >= since)
    .filter((line) => !params.search || line.text.toLowerCase().includes(params.search.toLowerCase()));
  if (!found.length) {
    throw new Fault("E_NO_LOGS", `session ${record.id} wrote nothing like that`, "call dap_logs with less");
  }
  const shown = found.slice(-(params.count ?? 20));
  if (params.reverse) shown.reverse();
  const lines = shown.map((line) => row(line, record, params.showSource !== false));
  return { sessionId: record.id, total: found.length, lines };
}

async function search(_: Debugger, params: Body, job: Job): Promise<Values> {
  const pattern = regex(params.pattern, params.caseSensitive === true);
  const record = load(job, params.sessionId);
  const lines = record.lines(params.category);
  const hits = [...lines.keys()].filter((number) => pattern.test(lines[number]?.text ?? ""));
  if (!hits.length) {
    const message = `nothing in session ${record.id} matches ${quoted(params.pattern)}`;
    throw new Fault("E_NO_RESULTS", message, "call dap_logs to read it");
  }
  const around = Math.max(0, params.contextLines ?? 2);
  const text = (from: number, to: number): string[] => lines.slice(Math.max(0, from), to).map((line) => line.text);
  const matches = hits.slice(0, params.limit ?? 50).map((number) => ({
    line: number + 1,
    ...row(lines[number] as Line, record, true),
    before: text(number - around, number),
    after: text(number + 1, number + 1 + around),
  }));
  return { sessionId: record.id, total: hits.length, matches };
}

async function exceptions(_: Debugger, params: Body, job: Job): Promise<Values> {
  const record = load(job, params.sessionId);
  const found = record.exceptions();
  if (!found.length) {
    throw new Fault("E_NO_EXCEPTIONS", `session ${record.id} saw no exception`, "call dap_logs for its output");
  }
  const { withContext = true, contextLines = 5, count = 10 } = params;
  const shown = found.slice(-count).map((one) => {
    const before = record
      .lines()
      .filter((line) => line.at <= Number(one.at))
      .map((line) => line.text);
    const context = withContext ? { before: contextLines ? before.slice(-contextLines) : [] } : {};
    return { ...one, ...context, at: offset(Number(one.at), record) };
  });
  return { sessionId: record.id, total: found.length, exceptions: shown };
}

async function timeline(_: Debugger, params: Body, job: Job): Promise<Values> {
  const record = load(job, params.sessionId);
  const last = record.begun + record.lasted;
  const age = (one: Entry): number => (params.fromEnd ? last - one.at : one.at - record.begun);
  const entries = record.entries
    .filter((one) => !params.eventTypes?.length || params.eventTypes.includes(one.type))
    .filter((one) => params.granularity !== "milestones" || MILESTONES.includes(one.type))
    .filter((one) => params.window === undefined || age(one) <= params.window / 1000);
  if (!entries.length) {
    throw new Fault("E_NO_EVENTS", `session ${record.id} has no such events`, "call dap_timeline with fewer limits");
  }
  if (params.granularity === "summary") {
    return { sessionId: record.id, counts: counted(entries.map((one) => one.type)) };
  }
  const shown = params.fromEnd ? entries.slice(-200) : entries.slice(0, 200);
  const events = shown.map((one) => ({ at: offset(one.at, record), type: one.type, what: what(one) }));
  const left = entries.length - 200;
  const more = left > 0 ? { more: `${left}; narrow it by window or eventTypes` } : {};
  return { sessionId: record.id, total: entries.length, events, ...more };
}

async function stats(_: Debugger, params: Body, job: Job): Promise<Values> {
  const groupBy = params.groupBy ?? "category";
  if (!["category", "source", "hour", "session"].includes(groupBy)) {
    throw new Fault(
      "E_INVALID_GROUP_BY",
      `cannot group by ${quoted(groupBy)}`,
      "one of: category, source, hour, session",
    );
  }
  const all = groupBy === "session" && !params.sessionId;
  const wanted = all ? numbers(recordings(job.workspace)).map(String) : [params.sessionId];
  const names = wanted
    .map((one) => load(job, one))
    .flatMap((record) => record.lines().map((line) => group(groupBy, line, record)));
  const counts = Object.entries(counted(names)).sort((a, b) => b[1] - a[1]);
  if (!counts.length) throw new Fault("E_NO_DATA", "nothing was written", "call dap_timeline for what happened");
  const told: Values = { groupBy, counts: Object.fromEntries(counts.slice(0, 50)) };
  if (params.includeCharts === false) return told;
  const top = counts[0]?.[1] ?? 1;
  const bar = (n: number): string => "█".repeat(Math.max(1, Math.floor((30 * n) / top)));
  return { ...told, chart: counts.slice(0, 20).map(([name, n]) => `${name.padEnd(20)} ${bar(n)} ${n}`) };
}

async function filter(_: Debugger, params: Body, job: Job): Promise<Values> {
  const wanted = params.filters ?? {};
  const unknown = Object.keys(wanted).find((name) => !CATEGORIES.includes(name));
  if (unknown !== undefined) {
    throw new Fault("E_INVALID_FILTERS", `no such filter: ${quoted(unknown)}`, `filters has ${CATEGORIES.join(", ")}`);
  }
  const record = load(job, params.sessionId);
  const include = regex(wanted.include ?? "", false, "E_INVALID_FILTERS");
  const exclude = wanted.exclude ? regex(wanted.exclude, false, "E_INVALID_FILTERS") : undefined;
  const from = moment(wanted.timeRange?.from, record, 0);
  const to = moment(wanted.timeRange?.to, record, Number.POSITIVE_INFINITY);
  const lines = record
    .lines()
    .filter((line) => !wanted.categories || wanted.categories.includes(line.category))
    .filter((line) => !wanted.sources || wanted.sources.some((one: string) => line.source.includes(one)))
    .filter((line) => from <= line.at && line.at <= to)
    .filter((line) => include.test(line.text) && !exclude?.test(line.text));
  if (!lines.length) {
    throw new Fault("E_NO_RESULTS", `nothing in session ${record.id} passes`, "call dap_filter with fewer filters");
  }
  const shown = lines.slice(0, 200).map((line) => row(line, record, true));
  return { sessionId: record.id, total: lines.length, lines: shown };
}

async function compare(_: Debugger, params: Body, job: Job): Promise<Values> {
  const pair = [params.sessionA, params.sessionB].map((one: string) => load(job, one, "E_SESSION_NOT_FOUND"));
  const bare = pair.find((one) => one.entries.length < 2);
  if (bare) throw new Fault("E_INSUFFICIENT_DATA", `session ${bare.id} recorded nothing`, "compare others");
  const [one, other] = pair as [Recorded, Recorded];
  const compareBy = params.compareBy ?? "counts";
  const told = { compareBy, sessionA: one.id, sessionB: other.id };
  if (compareBy === "counts") return { ...told, a: countsOf(one), b: countsOf(other) };
  const texts: Record<string, (record: Recorded) => string[]> = {
    exceptions: (record) => record.exceptions().map((found) => `${found.type}: ${found.message}`),
    timeline: (record) => record.of("stop").map((found) => place(found.body)),
    outputs: (record) => record.lines().map((line) => line.text),
  };
  const [a = [], b = []] = pair.map((record) => texts[compareBy]?.(record) ?? []);
  const onlyA = without(a, b);
  return { ...told, onlyA: onlyA.slice(0, 100), onlyB: without(b, a).slice(0, 100), both: a.length - onlyA.length };
}

/** The recording of a session, or the last one. */
function load(job: Job, ident: string | undefined, missing = "E_NO_SESSION"): Recorded {
  const folder = recordings(job.workspace);
  const known = numbers(folder).map(String);
  if (!known.length) throw noSession("no session was recorded yet");
  const wanted = (ident ?? known.at(-1) ?? "").split(".", 1)[0] ?? "";
  if (!known.includes(wanted)) {
    throw new Fault(missing, `no session ${quoted(ident ?? "")} was recorded`, `one of: ${known.join(", ")}`);
  }
  return Recorded.load(folder, wanted);
}

function regex(text: string, isExact: boolean, code = "E_INVALID_REGEX"): RegExp {
  try {
    return new RegExp(text, isExact ? "" : "i");
  } catch (error) {
    throw new Fault(code, `no regular expression: ${quoted(text)}: ${error}`, "escape what is meant literally");
  }
}

/** Written as ISO 8601, or in seconds after the session began, or before its end if negative. */
function moment(given: unknown, record: Recorded, otherwise: number): number {
  if (given === undefined || given === null || given === "") return otherwise;
  const seconds = Number(String(given).replace(/s$/, ""));
  if (!Number.isNaN(seconds)) return record.begun + seconds + (seconds < 0 ? record.lasted : 0);
  const parsed = Date.parse(String(given));
  if (!Number.isNaN(parsed)) return parsed / 1000;
  const hint = "give seconds after the start, or 2026-01-31T12:00:00Z";
  throw new Fault("E_INVALID_PARAM", `no moment: ${quoted(String(given))}`, hint);
}

function group(by: string, line: Line, record: Recorded): string {
  if (by === "source") return line.source || "unknown";
  if (by === "session") return record.id;
  return by === "hour" ? `${new Date(line.at * 1000).toISOString().slice(0, 13).replace("T", " ")}:00` : line.category;
}

function countsOf(record: Recorded): Values {
  return {
    seconds: rounded(record.lasted),
    exitCode: record.exitCode(),
    stops: record.of("stop").length,
    lines: record.lines().length,
    exceptions: record.exceptions().length,
    events: counted(record.entries.map((one) => one.type)),
  };
}

function counted(names: string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** Of each text as many as there are more of. */
function without(texts: string[], others: string[]): string[] {
  const left = counted(others);
  return texts.filter((text) => {
    const known = left[text] ?? 0;
    left[text] = known - 1;
    return known <= 0;
  });
}

function row(line: Line, record: Recorded, withSource: boolean): Values {
  const told = { at: offset(line.at, record), category: line.category, text: line.text };
  return withSource && line.source ? { ...told, source: line.source } : told;
}

function place(body: Body): string {
  const top = body.frames?.[0] ?? {};
  return `${body.reason} in ${top.name} at ${top.file}:${top.line}`;
}

function what(entry: Entry): string {
  if (entry.type === "stop") return place(entry.body);
  const words = Object.entries(entry.body).filter(([, value]) =>
    ["string", "number", "boolean"].includes(typeof value),
  );
  return words
    .map(([name, value]) => `${name}=${value}`)
    .join(" ")
    .slice(0, 200);
}

/** Seconds after the session began. */
function offset(at: number, record: Recorded): number {
  return rounded(at - record.begun);
}

function rounded(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}

export const SCRIPTS: Record<string, Script> = {
  "dap.summary": summary,
  "dap.logs": logs,
  "dap.search": search,
  "dap.exceptions": exceptions,
  "dap.timeline": timeline,
  "dap.stats": stats,
  "dap.filter": filter,
  "dap.compare": compare,
};
