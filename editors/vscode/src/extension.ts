/** Serves the workspaces of this window to agents, as a host of the bridge, and shows what they do. */

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { ActivityDisplay } from "./activity_display";
import { askToLeave } from "./client";
import { adapters } from "./debug/adapters";
import { realPath } from "./debug/debug_target";
import { Debugger } from "./debug/debugger";
import { keep, restore } from "./debug/saved_breakpoints";
import { JobHost, type Ways } from "./host";
import { HostHealth } from "./host_health";
import type { Manifest } from "./parameters";
import type { Values } from "./protocol";
import { run, SCRIPTS } from "./scripts";

/** Milliseconds between looks at what is to be served. */
const LOOK = 2000;

/** Milliseconds without a window after which the programs that agents started in it are ended. */
const ABANDONED = 60_000;

let serving: Serving | undefined;

export function activate(context: vscode.ExtensionContext): void {
  serving = new Serving(context);
  context.subscriptions.push(serving);
}

export function deactivate(): void {
  serving?.dispose();
}

class Serving implements vscode.Disposable {
  private readonly manifest: Manifest;
  private readonly health = new HostHealth();
  private readonly debug: Debugger;
  private readonly showing: ActivityDisplay;
  private readonly hosts = new Map<string, JobHost>();
  private readonly owned: vscode.Disposable[];
  private readonly timer: NodeJS.Timeout;
  private isWanted = vscode.workspace.getConfiguration("binnacle").get<boolean>("serve") ?? true;
  private problem = "it has just started";
  private isLooking = false;
  private lastSeen = Date.now();

  constructor(context: vscode.ExtensionContext) {
    const file = (name: string): string => path.join(context.extensionPath, "dist", name);
    this.manifest = JSON.parse(fs.readFileSync(file("manifest.json"), "utf8"));
    this.debug = new Debugger(context.workspaceState, file("fast_debugpy.py"), this.health);
    this.showing = new ActivityDisplay(this.debug, () => ({ served: [...this.hosts.keys()], problem: this.problem }));
    const commands: Record<string, () => unknown> = {
      "binnacle.menu": () => this.menu(),
      "binnacle.stop": () => this.stop(),
      "binnacle.show": () => this.showing.show(),
      "binnacle.release": () => this.want(false),
      "binnacle.serve": () => this.want(true),
      "binnacle.log": () => this.showing.channel.show(),
    };
    this.owned = [
      this.debug,
      this.showing,
      ...Object.entries(commands).map(([name, act]) => vscode.commands.registerCommand(name, act)),
      vscode.debug.onDidChangeBreakpoints(() => {
        for (const folder of this.hosts.keys()) keep(folder, this.debug.exceptions);
      }),
      vscode.workspace.onDidChangeWorkspaceFolders(() => void this.look()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("binnacle.serve")) {
          void this.want(vscode.workspace.getConfiguration("binnacle").get<boolean>("serve") ?? true);
        }
      }),
    ];
    this.timer = setInterval(() => void this.look(), LOOK);
    void this.look();
  }

  dispose(): void {
    clearInterval(this.timer);
    for (const host of this.hosts.values()) host.leave();
    this.hosts.clear();
    for (const one of this.owned.splice(0)) one.dispose();
  }

  private async want(isWanted: boolean): Promise<void> {
    this.isWanted = isWanted;
    await this.look();
  }

  /** Serves what is to be served, and leaves what is not. */
  private async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    try {
      const isThere = await this.health.check().then(
        () => true,
        () => false,
      );
      const folders = this.isWanted && isThere ? workspaces() : [];
      if (isThere) this.lastSeen = Date.now();
      else if (Date.now() - this.lastSeen > ABANDONED) this.debug.abandon();
      if (!this.isWanted) this.problem = "a person switched it off";
      else if (!isThere) this.problem = "the window does not answer";
      else if (!folders.length) this.problem = "no folder is open";
      for (const [folder, host] of this.hosts) {
        if (folders.includes(folder)) continue;
        this.hosts.delete(folder);
        host.leave();
      }
      for (const folder of folders) if (!this.hosts.has(folder)) await this.serve(folder);
    } finally {
      this.isLooking = false;
      this.showing.refresh();
    }
  }

  private async serve(folder: string): Promise<void> {
    const host = new JobHost(folder, this.capabilities(folder), this.ways(folder));
    try {
      await askToLeave(folder);
      const exceptions = await restore(folder);
      if (this.debug.exceptions === undefined && exceptions) await this.debug.setExceptions(exceptions);
      host.serve();
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      this.showing.channel.debug(this.problem);
      return;
    }
    this.hosts.set(folder, host);
    this.showing.channel.info(`serving ${folder}`);
  }

  private capabilities(folder: string): Values {
    const scripts = Object.keys(SCRIPTS).sort();
    return { scripts, adapters: adapters(folder), editor: vscode.env.appName, version: vscode.version };
  }

  private ways(folder: string): Ways {
    return {
      run: async (job) => {
        const told = await this.showing.during(job, () => run(this.debug, this.manifest, job));
        if (job.command.scriptName.startsWith("breakpoint.")) keep(folder, this.debug.exceptions);
        return told;
      },
      checkWindow: async () => {
        try {
          await this.health.check();
        } catch (error) {
          // Whoever asks next finds another host.
          void this.look();
          throw error;
        }
      },
      left: (why) => {
        this.hosts.delete(folder);
        this.problem = why;
        this.showing.channel.warn(`no longer serving ${folder}: ${why}`);
        this.showing.refresh();
      },
      log: (text) => this.showing.channel.error(text),
    };
  }

  /** Lets a person look, join and stop. */
  private async menu(): Promise<void> {
    const live = this.debug.live().filter((one) => !one.isForeign);
    const choices = [
      ...(live.length
        ? [
            { label: "$(debug-stackframe) Go to where the agent stands", command: "binnacle.show" },
            {
              label: `$(debug-stop) Stop what agents debug: ${live.map((one) => one.launch.title).join(", ")}`,
              command: "binnacle.stop",
            },
          ]
        : []),
      this.isWanted
        ? { label: "$(circle-slash) Stop serving agents in this window", command: "binnacle.release" }
        : { label: "$(compass) Serve agents in this window", command: "binnacle.serve" },
      { label: "$(output) Show the log", command: "binnacle.log" },
    ];
    const chosen = await vscode.window.showQuickPick(choices, { title: "Binnacle", placeHolder: this.summary() });
    if (chosen) await vscode.commands.executeCommand(chosen.command);
  }

  private summary(): string {
    return this.hosts.size
      ? `Agents may use ${[...this.hosts.keys()].join(", ")}`
      : `Agents do not use this window: ${this.problem}`;
  }

  private async stop(): Promise<void> {
    for (const one of this.debug.live())
      if (!one.isForeign) await this.debug.end(one, "a person stopped it in the editor");
  }
}

function workspaces(): string[] {
  const folders = vscode.workspace.workspaceFolders ?? [];
  return folders
    .filter((one) => one.uri.scheme === "file" || one.uri.scheme === "vscode-remote")
    .map((one) => realPath(one.uri.fsPath));
}
