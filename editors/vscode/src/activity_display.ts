/** Shows a person what agents do: in the status bar, in an output channel, and at the line where a program stands. */

import * as path from "node:path";
import * as vscode from "vscode";
import { type Body, localPath } from "./debug/debug_target";
import type { Debugger } from "./debug/debugger";
import type { Job } from "./protocol";

/** Scripts that are asked for all the time and say nothing to a person. */
const SILENT = ["bridge.ping", "debug.status", "breakpoint.list"];

export interface Service {
  /** Folders that are served, and why others are not. */
  served: string[];
  problem: string;
}

export class ActivityDisplay implements vscode.Disposable {
  readonly channel = vscode.window.createOutputChannel("Binnacle", { log: true });
  private readonly item = vscode.window.createStatusBarItem("binnacle", vscode.StatusBarAlignment.Left, 50);
  private readonly standing = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("editor.findMatchHighlightBackground"),
    overviewRulerColor: new vscode.ThemeColor("debugIcon.breakpointForeground"),
    after: { contentText: "  ← an agent stands here", color: new vscode.ThemeColor("editorCodeLens.foreground") },
  });
  private readonly owned: vscode.Disposable[];
  private running = 0;
  private last = "";
  private place: vscode.Location | undefined;

  constructor(
    private readonly debug: Debugger,
    private readonly service: () => Service,
  ) {
    this.item.name = "Binnacle";
    this.item.command = "binnacle.menu";
    this.owned = [
      this.channel,
      this.item,
      this.standing,
      debug.onChange(() => void this.follow()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.decorate()),
    ];
    this.refresh();
    this.item.show();
  }

  dispose(): void {
    for (const one of this.owned) one.dispose();
  }

  /** Shows a script while it runs, and what came of it. */
  async during<T>(job: Job, work: () => Promise<T>): Promise<T> {
    const name = job.command.scriptName;
    const isShown = !SILENT.includes(name);
    const began = performance.now();
    this.running += 1;
    if (isShown) {
      this.last = name;
      this.channel.info(`${job.command.clientId}: ${name} ${JSON.stringify(job.command.params)}`);
    }
    this.refresh();
    try {
      const told = await work();
      if (isShown) this.channel.info(`  ${Math.round(performance.now() - began)} ms ${abstract(told)}`);
      return told;
    } catch (error) {
      const code = (error as Body)?.code ?? "E_INTERNAL";
      this.channel.warn(`  ${name}: [${code}] ${error instanceof Error ? error.message : error}`);
      throw error;
    } finally {
      this.running -= 1;
      this.refresh();
    }
  }

  refresh(): void {
    const { served, problem } = this.service();
    const live = this.debug.live();
    const icon = this.running ? "$(sync~spin)" : served.length ? "$(compass)" : "$(circle-slash)";
    const state = live.some((one) => one.targets.some((two) => two.stop)) ? " paused" : live.length ? " debugging" : "";
    this.item.text = `${icon} Agents${state}`;
    const about = served.length
      ? `Agents may use this window in ${served.join(", ")}.`
      : `Agents do not use this window: ${problem}.`;
    this.item.tooltip = [about, ...(this.last ? [`Last: ${this.last}`] : [])].join("\n");
  }

  /** Shows the line where the program stands. */
  async show(): Promise<void> {
    if (!this.place) {
      void vscode.window.showInformationMessage("No program of an agent stands still.");
      return;
    }
    await vscode.window.showTextDocument(this.place.uri, { selection: this.place.range });
  }

  /** Where an agent's program stands now. */
  private async follow(): Promise<void> {
    this.refresh();
    const target = this.debug
      .live()
      .filter((one) => !one.isForeign)
      .flatMap((one) => one.targets)
      .find((one) => one.stop?.thread !== undefined);
    const { stop } = target ?? {};
    this.place = undefined;
    if (target && stop) {
      try {
        const found = await target.ask("stackTrace", { threadId: stop.thread, startFrame: 0, levels: 1 });
        const frame = found.stackFrames?.[0];
        const file = localPath(String(frame?.source?.path ?? ""));
        if (path.isAbsolute(file) && target.stop === stop) {
          this.place = new vscode.Location(vscode.Uri.file(file), new vscode.Position(frame.line - 1, 0));
        }
      } catch {
        // It has gone on.
      }
    }
    this.decorate();
  }

  private decorate(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const isHere = this.place && editor.document.uri.fsPath === this.place.uri.fsPath;
      editor.setDecorations(this.standing, isHere && this.place ? [this.place.range] : []);
    }
  }
}

function abstract(told: unknown): string {
  const text = JSON.stringify(told) ?? "";
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
