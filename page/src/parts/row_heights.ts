// Where the rows of a long list are: measured heights where they are known, a guess elsewhere.
export class RowHeights {
  #count = 0;
  #guess = 1;
  #keyOf: ((index: number) => string) | null = null;
  #measured = new Map<string, number>();
  /** Top of each row and, at the end, the height of all. */
  #tops = new Float64Array(1);
  #validRows = 0;

  /** `keyOf` is null when every row has the same height. */
  prepare(count: number, guess: number, keyOf: ((index: number) => string) | null): void {
    this.#count = count;
    this.#guess = guess;
    this.#keyOf = keyOf;
    if (keyOf && this.#tops.length < count + 1) this.#tops = new Float64Array(Math.ceil((count + 1) * 1.5));
    this.#validRows = 0;
  }

  get total(): number {
    return this.topOf(this.#count);
  }

  topOf(index: number): number {
    if (!this.#keyOf) return index * this.#guess;
    for (let row = this.#validRows; row < index; row++) {
      this.#tops[row + 1] = (this.#tops[row] ?? 0) + (this.#measured.get(this.#keyOf(row)) ?? this.#guess);
    }
    this.#validRows = Math.max(this.#validRows, index);
    return this.#tops[index] ?? 0;
  }

  /** The row at this height of the list; the last if there is none. */
  rowAt(height: number): number {
    if (this.#count === 0) return 0;
    if (!this.#keyOf) return Math.min(this.#count - 1, Math.floor(height / this.#guess));
    let [low, high] = [0, this.#count - 1];
    this.topOf(this.#count);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#tops[middle] ?? 0) <= height) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Notes the height of a row, and returns by how much it differs from what was thought. */
  measure(index: number, height: number): number {
    if (!this.#keyOf || index >= this.#count || height === 0) return 0;
    const key = this.#keyOf(index);
    const change = height - (this.#measured.get(key) ?? this.#guess);
    if (this.#measured.get(key) === height) return 0;
    this.#measured.set(key, height);
    this.#validRows = Math.min(this.#validRows, index);
    return change;
  }
}
