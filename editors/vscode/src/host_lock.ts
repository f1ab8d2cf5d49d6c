/** The place of the one host of a workspace: `host.lock` and `host.json`. */

import * as fs from "node:fs";
import * as path from "node:path";
import * as folders from "./job_files";
import { isAlive, isSeen } from "./process_identity";
import * as proofs from "./proofs";
import { Fault, type HostInfo } from "./protocol";

export class HostLock {
  /** What the host shares with its clients. */
  readonly key = proofs.newKey();
  private readonly folder: string;
  private readonly lock: string;
  private readonly info: HostInfo;

  constructor(
    private readonly workspace: string,
    info: HostInfo,
  ) {
    this.folder = folders.bridgeFolder(workspace);
    this.lock = path.join(this.folder, "host.lock");
    this.info = { ...info, proof: proofs.proveHost(this.key, info) };
  }

  /** Whoever has the place: a host with a proof, or one without whose very process is there. */
  holder(): HostInfo | undefined {
    const found = folders.parseHost(folders.readText(this.lock));
    return found && (isSeen(found) || proofs.isProven(this.workspace, found)) ? found : undefined;
  }

  /** Has the place, or says who does. */
  take(): void {
    folders.openBridge(this.workspace);
    const holder = this.holder();
    if (holder && isAlive(holder)) throw taken(this.workspace, holder);
    if (folders.exists(this.folder, "host.lock")) this.clear(holder);
    const own = `${this.lock}.new.${this.info.bridgeId}`;
    try {
      proofs.keepKey(this.workspace, this.info.bridgeId, this.key);
      folders.writeWhole(own, JSON.stringify(this.info));
      fs.linkSync(own, this.lock);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      throw new Fault("E_HOST_EXISTS", "another host was a moment faster", "use that one", {}, true);
    } finally {
      fs.rmSync(own, { force: true });
    }
    proofs.removeOtherKeys(this.workspace, this.info.bridgeId);
  }

  /** Takes away what a dead host left or a clone brought, and nothing that somebody else has just put there. */
  private clear(dead: HostInfo | undefined): void {
    const aside = `${this.lock}.${this.info.bridgeId}`;
    try {
      fs.renameSync(this.lock, aside);
      const moved = folders.parseHost(folders.readText(aside));
      const isNew = moved && moved.bridgeId !== dead?.bridgeId && proofs.isProven(this.workspace, moved);
      if (isNew && isAlive(moved)) fs.linkSync(aside, this.lock);
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

  /** Shows that the host is alive; true if everything had been deleted under it and was made again. */
  keep(): boolean {
    const holder = this.holder();
    if (holder && holder.bridgeId !== this.info.bridgeId) throw taken(this.workspace, holder);
    if (!holder) this.take();
    if (!proofs.readKey(this.workspace, this.info.bridgeId)) {
      proofs.keepKey(this.workspace, this.info.bridgeId, this.key);
    }
    try {
      const now = new Date();
      fs.lutimesSync(path.join(this.folder, "host.json"), now, now);
    } catch {
      this.introduce();
    }
    return holder === undefined;
  }

  /** Gives the place up, unless another host has it by now. */
  leave(): void {
    if (this.holder()?.bridgeId === this.info.bridgeId) {
      for (const name of ["host.json", "host.lock"]) fs.rmSync(path.join(this.folder, name), { force: true });
    }
    proofs.removeKey(this.workspace, this.info.bridgeId);
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
