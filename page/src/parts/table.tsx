// A table that scrolls on small screens instead of the page.
import type { ComponentChildren, JSX } from "preact";

export interface TableColumn<Row> {
  title: string;
  render: (row: Row) => ComponentChildren;
  /** Numbers are aligned at the end. */
  isNumber?: boolean;
}

export interface TableProps<Row> {
  /** What the table says, for screen readers. */
  label: string;
  columns: readonly TableColumn<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
}

export function Table<Row>({ label, columns, rows, keyOf }: TableProps<Row>): JSX.Element {
  return (
    <div class="table-scroll" role="group" aria-label={label} tabIndex={0}>
      <table>
        <caption class="sr-only">{label}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" class={column.isNumber ? "number" : ""}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td class={column.isNumber ? "number" : ""}>{column.render(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
