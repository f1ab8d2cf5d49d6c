// Code, emphasis and links within a line of Markdown.
import type { ComponentChildren, JSX } from "preact";
import { splitHidden } from "./diff/visible_text";

const MAX_DEPTH = 6;
const CODE = /(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)/gs;
const LINK = /(!?)\[([^\]\n]{0,500})\]\(\s*<?([^\s)>]{1,2000})>?(?:\s+["'][^"'\n]*["'])?\s*\)/g;
const ADDRESS = /\bhttps?:\/\/[^\s<>"')\]]{1,2000}/g;
const STRONG = /\*\*(?=\S)([^*]{1,2000}?\S?)\*\*|__(?=\S)([^_]{1,2000}?)__/g;
const EMPHASIS = /\*(?=\S)([^*\n]{1,2000}?)\*|(?<!\w)_(?=\S)([^_\n]{1,2000}?)_(?!\w)/g;
const STRIKE = /~~(?=\S)([^~\n]{1,2000}?)~~/g;
const BREAK = /\\\n/g;

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
  if (depth > MAX_DEPTH) return splitHidden(text);
  const parts: ComponentChildren[] = [];
  const matches: (RegExpExecArray | null)[] = [];
  let at = 0;
  for (let first = findFirst(text, at, matches); first >= 0; first = findFirst(text, at, matches)) {
    const match = matches[first] as RegExpExecArray;
    parts.push(...splitHidden(text.slice(at, match.index)), RULES[first]?.[1](match, depth));
    at = match.index + match[0].length;
  }
  parts.push(...splitHidden(text.slice(at)));
  return parts;
}

/**
 * The rule that matches first from a place on; of those that match together, the first one. -1 if none does.
 *
 * `matches` keeps the next match of each rule, so that no rule reads the text more than once.
 */
function findFirst(text: string, at: number, matches: (RegExpExecArray | null)[]): number {
  let best = -1;
  RULES.forEach(([pattern], rule) => {
    const known = matches[rule];
    if (known === undefined || (known && known.index < at)) {
      pattern.lastIndex = at;
      matches[rule] = pattern.exec(text);
    }
    const start = matches[rule]?.index ?? Infinity;
    if (start < (matches[best]?.index ?? Infinity)) best = rule;
  });
  return best;
}

function renderAddress(address: string): ComponentChildren {
  const end = /[.,;:!?]+$/.exec(address)?.[0] ?? "";
  const target = address.slice(0, address.length - end.length);
  return [<OutsideLink target={target}>{target}</OutsideLink>, end];
}

function renderLink(label: string, target: string, isImage: boolean, depth: number): ComponentChildren {
  if (!isOutside(target)) return label === target ? <code>{target}</code> : [renderInline(label, depth + 1), " (", <code>{target}</code>, ")"];
  // A label that is an address is no link of its own: it would lead somewhere else than the one around it.
  const text = isImage ? `image: ${label}` : renderInline(label, label.includes("://") ? Infinity : depth + 1);
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
