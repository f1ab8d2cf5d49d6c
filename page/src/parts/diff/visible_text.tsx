// Text of others with what a reader could not see made visible: control characters, marks that turn the direction of
// text around, and characters without width.
import type { ComponentChildren } from "preact";

// Tab and line feed are seen; everything else of these is not, or changes how the rest is seen.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udfff]/g;
const MAX_MARKS = 200;

/** The text in pieces; pieces that nobody could see are named. */
export function splitHidden(text: string): ComponentChildren[] {
  const found: ComponentChildren[] = [];
  let last = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (found.length >= MAX_MARKS) break;
    if (match.index > last) found.push(text.slice(last, match.index));
    found.push(<span class="hidden-mark">{nameHidden(match[0])}</span>);
    last = match.index + match[0].length;
  }
  if (last < text.length) found.push(found.length ? text.slice(last).replace(HIDDEN, "�") : text.slice(last));
  return found;
}

/** One line of text for titles and labels, where nothing can be marked. */
export function visibleLine(text: string): string {
  return text.replace(/\n/g, "↵").replace(HIDDEN, nameHidden);
}

function nameHidden(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code === 13) return "\\r";
  if (code < 32) return `\\x${code.toString(16).padStart(2, "0")}`;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}
