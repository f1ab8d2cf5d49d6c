// Code, emphasis and links within a line of Markdown.
import type { ComponentChildren, JSX } from "preact";

const MAX_DEPTH = 6;
const CODE = /(`+)([^`](?:.*?[^`])?)\1(?!`)/s;
const LINK = /(!?)\[([^\]\n]{0,500})\]\(\s*<?([^\s)>]{1,2000})>?(?:\s+["'][^"'\n]*["'])?\s*\)/;
const ADDRESS = /\bhttps?:\/\/[^\s<>"')\]]{1,2000}/;
const STRONG = /\*\*(?=\S)([^*]{1,2000}?\S?)\*\*|__(?=\S)([^_]{1,2000}?)__/;
const EMPHASIS = /\*(?=\S)([^*\n]{1,2000}?)\*|(?<!\w)_(?=\S)([^_\n]{1,2000}?)_(?!\w)/;
const STRIKE = /~~(?=\S)([^~\n]{1,2000}?)~~/;
const BREAK = / {2,}\n|\\\n/;

type Render = (match: RegExpExecArray, depth: number) => ComponentChildren;

const RULES: readonly (readonly [RegExp, Render])[] = [
  [CODE, (match) => <code>{match[2]?.trim()}</code>],
  [LINK, (match, depth) => renderLink(match[2] || match[3] || "", match[3] ?? "", match[1] === "!", depth)],
  [ADDRESS, (match) => renderAddress(match[0])],
  [STRONG, (match, depth) => <strong>{renderInline(match[1] ?? match[2] ?? "", depth + 1)}</strong>],
  [EMPHASIS, (match, depth) => <em>{renderInline(match[1] ?? match[2] ?? "", depth + 1)}</em>],
  [STRIKE, (match, depth) => <s>{renderInline(match[1] ?? "", depth + 1)}</s>],
  [BREAK, () => <br />],
];

export function renderInline(text: string, depth = 0): ComponentChildren {
  if (depth > MAX_DEPTH) return text;
  const parts: ComponentChildren[] = [];
  let rest = text;
  while (rest) {
    const found = firstMatch(rest);
    if (!found) break;
    const [match, render] = found;
    if (match.index > 0) parts.push(rest.slice(0, match.index));
    parts.push(render(match, depth));
    rest = rest.slice(match.index + match[0].length);
  }
  parts.push(rest);
  return parts;
}

/** The match that begins first; of those that begin together, that of the first rule. */
function firstMatch(text: string): readonly [RegExpExecArray, Render] | null {
  let best: readonly [RegExpExecArray, Render] | null = null;
  for (const [pattern, render] of RULES) {
    const match = pattern.exec(text);
    if (match && (!best || match.index < best[0].index)) best = [match, render];
  }
  return best;
}

function renderAddress(address: string): ComponentChildren {
  const end = /[.,;:!?]+$/.exec(address)?.[0] ?? "";
  const target = address.slice(0, address.length - end.length);
  return [<OutsideLink target={target}>{target}</OutsideLink>, end];
}

function renderLink(label: string, target: string, isImage: boolean, depth: number): ComponentChildren {
  if (!isOutside(target)) return label === target ? <code>{target}</code> : [renderInline(label, depth + 1), " (", <code>{target}</code>, ")"];
  const text = isImage ? `image: ${label}` : renderInline(label, depth + 1);
  return [<OutsideLink target={target}>{text}</OutsideLink>, label !== target && <span class="link-target"> ({hostOf(target)})</span>];
}

/** A link that leaves the page. Its target is shown, for its text is somebody else's. */
export function OutsideLink({ target, children }: { target: string; children: ComponentChildren }): JSX.Element {
  return (
    <a href={target} title={target} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

/** Only addresses of the web and of mail are links; others, such as `javascript:`, are text. */
export function isOutside(target: string): boolean {
  return /^(https?:\/\/|mailto:)/i.test(target);
}

function hostOf(target: string): string {
  try {
    const address = new URL(target);
    return address.host || address.pathname;
  } catch {
    return target;
  }
}
