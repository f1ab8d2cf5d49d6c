// A part of the charts: what it says in a sentence, the drawing, and its numbers as a table that can be copied.
import type { ComponentChildren, JSX } from "preact";
import { useRef } from "preact/hooks";
import { Table, type TableProps } from "../../parts/table";
import { showToast } from "../../state/messages";

export interface ChartSectionProps {
  title: string;
  /** What the numbers say, in one sentence. */
  said?: ComponentChildren;
  /** Has the room of two. */
  isWide?: boolean;
  children: ComponentChildren;
}

export function ChartSection({ title, said, isWide, children }: ChartSectionProps): JSX.Element {
  return (
    <section class={`card-box chart ${isWide ? "wide" : ""}`}>
      <h2>{title}</h2>
      {said && <p class="muted">{said}</p>}
      {children}
    </section>
  );
}

/** The numbers of a drawing, folded below it. */
export function FoldedTable<Row>(props: TableProps<Row>): JSX.Element {
  return (
    <details>
      <summary>Table</summary>
      <CopiedTable {...props} />
    </details>
  );
}

/** A table that is copied as text with tabs, which spreadsheets read. */
export function CopiedTable<Row>(props: TableProps<Row>): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const copy = () => {
    const rows = [...(place.current?.querySelector("table")?.rows ?? [])];
    const text = rows.map((row) => [...row.cells].map((cell) => cell.innerText.replace(/\s+/g, " ").trim()).join("\t")).join("\n");
    void navigator.clipboard.writeText(text).then(() => showToast("Copied."));
  };
  return (
    <div ref={place}>
      <Table {...props} />
      <button type="button" class="link-button" aria-label={`Copy the table: ${props.label}`} onClick={copy}>
        Copy
      </button>
    </div>
  );
}

/** A name with a bar below it, whose length is its share of the longest. */
export function BarName({ name, value, longest }: { name: string; value: number; longest: number }): JSX.Element {
  return (
    <>
      {name}
      {longest > 0 && <span class="share" style={{ width: `${(100 * value) / longest}%` }} />}
    </>
  );
}
