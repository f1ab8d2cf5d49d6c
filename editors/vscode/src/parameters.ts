/** The scripts' metadata, built into `manifest.json`, and parameters held to it. */

import { Fault, type Values } from "./protocol";

export interface Parameter {
  type: "string" | "number" | "boolean" | "enum" | "object" | "array";
  required?: boolean;
  default?: unknown;
  values?: string[];
  min?: number;
  max?: number;
  integer?: boolean;
  minLength?: number;
}

export interface Manifest {
  version: number;
  scripts: Record<string, { metadata: { params?: Record<string, Parameter>; hosts?: string[] } }>;
}

/** Parameters about which scripts have errors of their own. */
const OWN = ["groupBy", "mode"];

/** The parameters as they are meant, with defaults. Those the metadata does not know are for the script to read. */
export function checked(script: string, known: Record<string, Parameter>, given: Values): Values {
  const found: Values = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  for (const [name, one] of Object.entries(known)) {
    if (found[name] === undefined) {
      if (one.required) throw wrong(script, `${name} is missing`);
      if (one.default !== undefined) found[name] = one.default;
      continue;
    }
    found[name] = converted(found[name], one);
    const problem = problemOf(found[name], one);
    // A configuration may be given in the place of its name.
    if (problem && !OWN.includes(name) && !(name === "launch" && typeof found[name] === "object"))
      throw wrong(script, `${name} ${problem}`);
  }
  return found;
}

/** Numbers and booleans may come as words. */
function converted(value: unknown, one: Parameter): unknown {
  if (typeof value !== "string") return value;
  if (one.type === "number" && value.trim() && !Number.isNaN(Number(value))) return Number(value);
  if (one.type === "boolean" && ["true", "false"].includes(value)) return value === "true";
  return value;
}

function problemOf(value: unknown, one: Parameter): string {
  switch (one.type) {
    case "number":
      if (typeof value !== "number") return "is no number";
      if (one.integer && !Number.isInteger(value)) return "is no whole number";
      if (one.min !== undefined && value < one.min) return `is less than ${one.min}`;
      return one.max !== undefined && value > one.max ? `is more than ${one.max}` : "";
    case "boolean":
      return typeof value === "boolean" ? "" : "is neither true nor false";
    case "enum":
      return one.values?.includes(String(value)) ? "" : `is none of ${one.values?.join(", ")}`;
    case "array":
      return Array.isArray(value) ? "" : "is no list";
    case "object":
      return typeof value === "object" && !Array.isArray(value) ? "" : "is no object";
    case "string":
      return "";
  }
}

function wrong(script: string, problem: string): Fault {
  return new Fault("E_INVALID_PARAMS", `${script}: ${problem}`, "fix the parameter and call again");
}
