// Which words of a changed line are other ones.

export interface MarkedPart {
  text: string;
  isChanged: boolean;
}

const WORDS = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;
const MAX_WORDS = 300;
/** Two lines with less in common are two lines, not one that was changed. */
const MIN_COMMON_SHARE = 0.3;

/** The old and the new line in parts; null if they have too little in common, or are too long to be compared. */
export function markWords(before: string, after: string): { before: MarkedPart[]; after: MarkedPart[] } | null {
  const old = before.match(WORDS) ?? [];
  const now = after.match(WORDS) ?? [];
  if (old.length === 0 || now.length === 0 || old.length > MAX_WORDS || now.length > MAX_WORDS) return null;
  const common = findCommon(old, now);
  const kept = common.reduce((sum, [at]) => sum + (old[at] as string).trim().length, 0);
  const longer = Math.max(before.trim().length, after.trim().length);
  if (kept < longer * MIN_COMMON_SHARE) return null;
  return {
    before: join(old, new Set(common.map(([at]) => at))),
    after: join(now, new Set(common.map(([, at]) => at))),
  };
}

/** The places of the longest common sequence of words, in both. */
function findCommon(old: readonly string[], now: readonly string[]): [number, number][] {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const found: [number, number][] = [];
  for (let at = 0; at < start; at += 1) found.push([at, at]);
  const rows = old.length - start - end;
  const columns = now.length - start - end;
  const lengths = new Uint16Array((rows + 1) * (columns + 1));
  for (let row = rows - 1; row >= 0; row -= 1) {
    for (let column = columns - 1; column >= 0; column -= 1) {
      const here = row * (columns + 1) + column;
      const below = lengths[here + columns + 1] ?? 0;
      const isSame = old[start + row] === now[start + column];
      lengths[here] = isSame ? (lengths[here + columns + 2] ?? 0) + 1 : Math.max(below, lengths[here + 1] ?? 0);
    }
  }
  for (let row = 0, column = 0; row < rows && column < columns; ) {
    const here = row * (columns + 1) + column;
    if (old[start + row] === now[start + column]) {
      found.push([start + row, start + column]);
      row += 1;
      column += 1;
    } else if ((lengths[here + columns + 1] ?? 0) >= (lengths[here + 1] ?? 0)) row += 1;
    else column += 1;
  }
  for (let at = end; at > 0; at -= 1) found.push([old.length - at, now.length - at]);
  return found;
}

function join(words: readonly string[], kept: ReadonlySet<number>): MarkedPart[] {
  const found: MarkedPart[] = [];
  words.forEach((text, at) => {
    const last = found.at(-1);
    const isChanged = !kept.has(at);
    if (last && last.isChanged === isChanged) last.text += text;
    else found.push({ text, isChanged });
  });
  return found;
}
