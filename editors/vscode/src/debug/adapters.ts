/** Which debuggers the editor has, and how to get what ours lacks. */

import * as vscode from "vscode";
import { Fault, type Values } from "../protocol";
import type { Body } from "./debug_target";
import { adapterPython, OWN_TYPE } from "./python";

/** Every debugger that has a name for people. Those of js-debug have two names for programs. */
export function adapters(folder: string): Values[] {
  return vscode.extensions.all.flatMap((extension) => {
    const { version, contributes } = extension.packageJSON;
    const named: Body[] = (contributes?.debuggers ?? []).filter(
      (one: Body) => one.label && !one.type.startsWith("pwa-"),
    );
    return named.map((one) => {
      const row = { name: one.type, language: label(one.label, extension) };
      return one.type === OWN_TYPE ? { ...row, ...debugpy(folder) } : { ...row, found: true, version };
    });
  });
}

function debugpy(folder: string): Values {
  try {
    return { found: true, path: adapterPython(folder) };
  } catch (error) {
    return { found: false, install: error instanceof Fault ? error.hint : String(error) };
  }
}

/** Built-in extensions have their words elsewhere, and here a key in percent signs. */
function label(text: string, extension: vscode.Extension<unknown>): string {
  return text.startsWith("%") ? (extension.packageJSON.displayName ?? extension.id) : text;
}
