// Markdown as elements. Text stays text: HTML is shown as it is written, links say where they lead, images are links.
import type { ComponentChildren, JSX } from "preact";
import { useMemo } from "preact/hooks";
import { type MarkdownBlock, parseBlocks } from "./markdown_blocks";
import { renderInline } from "./markdown_inline";

export interface MarkdownProps {
  text: string;
  class?: string;
}

export function Markdown({ text, class: style = "" }: MarkdownProps): JSX.Element {
  const blocks = useMemo(() => parseBlocks(text), [text]);
  return <div class={`markdown ${style}`}>{blocks.map(renderBlock)}</div>;
}

function renderBlock(block: MarkdownBlock): ComponentChildren {
  switch (block.kind) {
    case "heading":
      return renderHeading(block.level, block.text);
    case "code":
      return (
        <pre class="code" tabIndex={0}>
          <code>{block.text}</code>
        </pre>
      );
    case "quote":
      return <blockquote>{block.blocks.map(renderBlock)}</blockquote>;
    case "rule":
      return <hr />;
    case "list": {
      const items = block.items.map((item) => <li>{renderItem(item)}</li>);
      return block.isOrdered ? <ol start={block.start}>{items}</ol> : <ul>{items}</ul>;
    }
    case "table":
      return (
        <div class="table-scroll" role="group" aria-label="Table" tabIndex={0}>
          <table>
            <thead>
              <tr>{block.head.map((cell) => <th scope="col">{renderInline(cell)}</th>)}</tr>
            </thead>
            <tbody>
              {block.rows.map((row) => (
                <tr>{row.map((cell) => <td>{renderInline(cell)}</td>)}</tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case "paragraph":
      return <p>{renderInline(block.text)}</p>;
  }
}

/** Headings of a text stay below those of the page. */
function renderHeading(level: number, text: string): JSX.Element {
  if (level <= 1) return <h3>{renderInline(text)}</h3>;
  if (level === 2) return <h4>{renderInline(text)}</h4>;
  return <h5>{renderInline(text)}</h5>;
}

function renderItem(blocks: readonly MarkdownBlock[]): ComponentChildren {
  const [first, ...rest] = blocks;
  if (first?.kind !== "paragraph") return blocks.map(renderBlock);
  const task = /^\[([ xX])\]\s+(.*)$/s.exec(first.text);
  const text = task ? `${task[1] === " " ? "☐" : "☑"} ${task[2]}` : first.text;
  return [renderInline(text), ...rest.map(renderBlock)];
}
