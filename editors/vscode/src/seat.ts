/** The place of the one host of a workspace: `host.lock` and `host.json`. */

import * as fs from "node:fs";
import * as path from "node:path";
import { isAlive } from "./alive";
import * as folders from "./folders";
import { Fault, type HostInfo } from "./protocol";

/** Milliseconds after which an empty lock is not that of a host which is just about to write into it. */
const YOUNG = 15_000;

export class Seat {
  private readonly folder: string;
  private readonly lock: string;

  constructor(
    private readonly workspace: string,
    private readonly info: HostInfo,
  ) {
    this.folder = folders.bridgeFolder(workspace);
    this.lock = path.join(this.folder, "host.lock");
  }

  /** Whoever has the place. Another program's lock may hold only a process id, or nothing. */
  holder(): HostInfo | undefined {
    const written = folders.readText(this.lock);
    if (written === undefined) return undefined;
    const known = folders.parseHost(written) ?? folders.readHost(this.workspace);
    return known ?? ({ bridgeId: "", pid: Number.parseInt(written, 10) || 0, kind: "vscode" } as HostInfo);
  }

  /** Has the place, or says who does. */
  take(): void {
    folders.openBridge(this.workspace);
    const holder = this.holder();
    if (holder && (isAlive(holder) || this.isFresh(holder))) throw taken(this.workspace, holder);
    if (holder) this.clear(holder);
    try {
      fs.writeFileSync(this.lock, JSON.stringify(this.info), { flag: "wx", mode: 0o600 });
    } catch {
      throw new Fault("E_HOST_EXISTS", "another host was a moment faster", "use that one", {}, true);
    }
  }

  /** Takes away what a dead host left, and nothing that somebody else has just put there. */
  private clear(dead: HostInfo): void {
    const aside = `${this.lock}.${this.info.bridgeId}`;
    try {
      fs.renameSync(this.lock, aside);
      const moved = folders.parseHost(folders.readText(aside));
      if (moved && moved.bridgeId !== dead.bridgeId) fs.linkSync(aside, this.lock);
    } catch {
      // Somebody else clears it, too.
    } finally {
      fs.rmSync(aside, { force: true });
    }
  }

  /** Writes `host.json`: from now on clients find the host. */
  introduce(): void {
    folders.writeWhole(path.join(this.folder, "host.json"), JSON.stringify(this.info));
  }

  /** Shows that the host is alive; true if everything had been deleted under it and was made anew. */
  keep(): boolean {
    const holder = this.holder();
    if (holder && holder.bridgeId !== this.info.bridgeId) throw taken(this.workspace, holder);
    if (!holder) this.take();
    try {
      const now = new Date();
      fs.utimesSync(path.join(this.folder, "host.json"), now, now);
    } catch {
      this.introduce();
    }
    return holder === undefined;
  }

  /** Gives the place up, unless another host has it by now. */
  leave(): void {
    if (this.holder()?.bridgeId !== this.info.bridgeId) return;
    for (const name of ["host.json", "host.lock"]) fs.rmSync(path.join(this.folder, name), { force: true });
  }

  private isFresh(holder: HostInfo): boolean {
    const found = fs.statSync(this.lock, { throwIfNoEntry: false });
    return !holder.pid && found !== undefined && Date.now() - found.mtimeMs < YOUNG;
  }
}

function taken(workspace: string, holder: HostInfo): Fault {
  return new Fault(
    "E_HOST_EXISTS",
    `a ${holder.kind} host serves ${workspace} already: process ${holder.pid}`,
    "use that one, or end it with: bn bridge stop",
    { pid: holder.pid, kind: holder.kind },
  );
}
