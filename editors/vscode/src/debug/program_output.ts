/** What a program has written since anybody was told. */

import type { Values } from "../protocol";

/** Characters of it that stand in an answer. */
const SHOWN = 4000;

export class Output {
  private text = "";
  private dropped = 0;

  add(category: string, text: string): void {
    if (category === "telemetry" || !text) return;
    this.text += text;
    if (this.text.length > 2 * SHOWN) {
      this.dropped += this.text.length - SHOWN;
      this.text = this.text.slice(-SHOWN);
    }
  }

  /** What is new, as it stands in an answer; nothing if nothing is. */
  take(): Values {
    const { text } = this;
    const cut = this.dropped + Math.max(0, text.length - SHOWN);
    this.text = "";
    this.dropped = 0;
    if (!text) return {};
    if (!cut) return { output: text };
    return { output: text.slice(-SHOWN), outputCut: `${cut} characters before that; dap_logs has them` };
  }
}
