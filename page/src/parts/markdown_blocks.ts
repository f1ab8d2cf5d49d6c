// The blocks of a Markdown text. Every step takes at least one line, and no pattern can match the same characters in
// two ways, so hostile text ends soon, too.
export type MarkdownBlock =
  | { kind: "heading"; level: number; text: string }
  | { kind: "paragraph"; text: string }
  | { kind: "code"; text: string }
  | { kind: "quote"; blocks: MarkdownBlock[] }
  | { kind: "rule" }
  | { kind: "list"; isOrdered: boolean; start: number; items: MarkdownBlock[][] }
  | { kind: "table"; head: string[]; rows: string[][] };

const MAX_DEPTH = 8;
/** A browser needs seconds for a row of thousands of cells. What is beyond stays in the last one. */
const MAX_COLUMNS = 30;
const HEADING = /^ {0,3}(#{1,6})\s+(.*)$/s;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+)(\S.*)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const DIVIDER = /^ {0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*(\|\s*)?$/;

export function parseBlocks(text: string, depth = 0): MarkdownBlock[] {
  return new BlockParser(text.split(/\r?\n/), depth).parse();
}

class BlockParser {
  #at = 0;
  #blocks: MarkdownBlock[] = [];

  constructor(
    private readonly lines: readonly string[],
    private readonly depth: number,
  ) {}

  parse(): MarkdownBlock[] {
    while (this.#at < this.lines.length) {
      const line = this.#line();
      if (line.trim() === "") this.#at++;
      else this.#blocks.push(this.#next(line));
    }
    return this.#blocks;
  }

  #next(line: string): MarkdownBlock {
    const heading = HEADING.exec(line);
    if (heading) {
      this.#at++;
      return { kind: "heading", level: heading[1]?.length ?? 1, text: (heading[2] ?? "").trim().replace(/(?<!#)#+$/, "").trim() };
    }
    if (RULE.test(line)) {
      this.#at++;
      return { kind: "rule" };
    }
    const fence = FENCE.exec(line);
    if (fence) return this.#code(fence[1] ?? "```");
    if (this.depth < MAX_DEPTH && QUOTE.test(line)) return this.#quote();
    if (this.depth < MAX_DEPTH && ITEM.test(line)) return this.#list();
    if (line.includes("|") && DIVIDER.test(this.lines[this.#at + 1] ?? "")) return this.#table();
    return this.#paragraph();
  }

  #code(fence: string): MarkdownBlock {
    const text: string[] = [];
    for (this.#at++; this.#at < this.lines.length; this.#at++) {
      if (this.#line().trim().startsWith(fence)) {
        this.#at++;
        break;
      }
      text.push(this.#line());
    }
    return { kind: "code", text: text.join("\n") };
  }

  #quote(): MarkdownBlock {
    const text: string[] = [];
    for (; this.#at < this.lines.length; this.#at++) {
      const quoted = QUOTE.exec(this.#line());
      if (!quoted) break;
      text.push(quoted[1] ?? "");
    }
    return { kind: "quote", blocks: parseBlocks(text.join("\n"), this.depth + 1) };
  }

  #list(): MarkdownBlock {
    const first = ITEM.exec(this.#line())?.[2] ?? "-";
    const isOrdered = /\d/.test(first);
    const items: MarkdownBlock[][] = [];
    while (this.#at < this.lines.length) {
      const item = ITEM.exec(this.#line());
      if (!item || /\d/.test(item[2] ?? "") !== isOrdered || RULE.test(this.#line())) break;
      items.push(parseBlocks(this.#itemText(item).join("\n"), this.depth + 1));
    }
    return { kind: "list", isOrdered, start: isOrdered ? parseInt(first, 10) : 1, items };
  }

  /** The lines of one item: its first, and what is indented below it. */
  #itemText(item: RegExpExecArray): string[] {
    const indent = (item[1]?.length ?? 0) + (item[2]?.length ?? 1) + Math.min(item[3]?.length ?? 1, 4);
    const text = [item[4] ?? ""];
    for (this.#at++; this.#at < this.lines.length; this.#at++) {
      const line = this.#line();
      const isIndented = line.startsWith(" ".repeat(Math.min(indent, 2)));
      const continues = line.trim() !== "" && text.at(-1) !== "" && !ITEM.test(line) && !HEADING.test(line) && !FENCE.test(line);
      const isGap = line.trim() === "" && /^ {2,}\S/.test(this.lines[this.#at + 1] ?? "");
      if (!isIndented && !continues && !isGap) break;
      text.push(line.replace(new RegExp(`^ {0,${indent}}`), ""));
    }
    return text;
  }

  #table(): MarkdownBlock {
    const head = cellsOf(this.#line());
    const rows: string[][] = [];
    for (this.#at += 2; this.#at < this.lines.length && this.#line().includes("|"); this.#at++) rows.push(cellsOf(this.#line()));
    return { kind: "table", head, rows };
  }

  #paragraph(): MarkdownBlock {
    const text: string[] = [];
    do text.push(this.#line().trim());
    while (++this.#at < this.lines.length && !this.#startsBlock(this.#line()));
    return { kind: "paragraph", text: text.join("\n") };
  }

  #startsBlock(line: string): boolean {
    return line.trim() === "" || [HEADING, RULE, FENCE, ITEM, QUOTE].some((pattern) => pattern.test(line));
  }

  #line(): string {
    return this.lines[this.#at] ?? "";
  }
}

function cellsOf(line: string): string[] {
  const cells = line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  return cells.length > MAX_COLUMNS ? [...cells.slice(0, MAX_COLUMNS), cells.slice(MAX_COLUMNS).join("|")] : cells;
}
