// How long ago something was, with the full time as its title.
import type { JSX } from "preact";
import { Store, useStore } from "../state/store";

const MINUTE_MS = 60_000;

const now$ = new Store(Date.now());
setInterval(() => document.hidden || now$.set(Date.now()), 10_000);
document.addEventListener("visibilitychange", () => now$.set(Date.now()));

export interface AgeProps {
  /** A time as the server writes it. */
  at: string;
  /** Said before it, such as `since`. */
  prefix?: string;
  /** Says `4 min ago` and `just now`. */
  isAgo?: boolean;
}

export function Age({ at, prefix = "", isAgo = false }: AgeProps): JSX.Element {
  const now = useStore(now$, (value) => value);
  const time = new Date(at);
  const age = formatAge(now - time.getTime());
  return (
    <time dateTime={at} title={time.toLocaleString()} class="age">
      {prefix && `${prefix} `}
      {isAgo ? (age === "now" ? "just now" : `${age} ago`) : prefix === "for" && age === "now" ? "a moment" : age}
    </time>
  );
}

/** `now`, `4 min`, `3 h`, `12 d`, `5 mo`, `2 y`; times in the future begin with `in`. */
export function formatAge(ms: number): string {
  const minutes = Math.abs(ms) / MINUTE_MS;
  if (minutes < 1) return "now";
  const words = formatMinutes(minutes);
  return ms < 0 ? `in ${words}` : words;
}

function formatMinutes(minutes: number): string {
  if (minutes < 60) return `${Math.floor(minutes)} min`;
  const hours = minutes / 60;
  if (hours < 24) return `${Math.floor(hours)} h`;
  const days = hours / 24;
  if (days < 60) return `${Math.floor(days)} d`;
  return days < 730 ? `${Math.floor(days / 30.4)} mo` : `${Math.floor(days / 365)} y`;
}

/** A duration such as `340 ms`, `4.2 s`, `3 min 20 s`. */
export function formatDuration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.5) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const [whole, minutes] = [Math.round(seconds), Math.round(seconds / 60)];
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
