// JSON schemas of tools, as far as a form can be made from them. Anything else is written as JSON.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export interface Schema {
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: Json[];
  const?: Json;
  default?: Json;
  minimum?: number;
  maximum?: number;
  $ref?: string;
  anyOf?: Schema[];
  oneOf?: Schema[];
}

export type FieldKind = "object" | "list" | "choice" | "yes or no" | "number" | "text" | "json";

/** Deeper values are written as JSON: nobody finds their way through more boxes in boxes. */
export const MAX_FORM_DEPTH = 4;

export function parseSchema(text: string): Schema {
  try {
    const found: unknown = JSON.parse(text);
    return isObject(found) ? (found as Schema) : {};
  } catch {
    return {};
  }
}

/** The schema that is meant: references within the whole schema are followed, and a choice with null is the other one. */
export function resolveSchema(schema: Schema, whole: Schema, depth = 0): Schema {
  if (!isObject(schema) || depth > 8) return {};
  const { $ref: reference, anyOf, oneOf } = schema;
  if (typeof reference === "string") return { ...resolveSchema(follow(reference, whole), whole, depth + 1), ...withoutReference(schema) };
  const several = anyOf ?? oneOf;
  const choices = Array.isArray(several) ? several.filter((one) => one?.type !== "null") : [];
  const only = choices.length === 1 ? choices[0] : undefined;
  return only ? { ...resolveSchema(only, whole, depth + 1), ...withoutChoices(schema) } : schema;
}

export function kindOf(schema: Schema, depth: number): FieldKind {
  if (depth > MAX_FORM_DEPTH || schema.anyOf || schema.oneOf) return "json";
  if (Array.isArray(schema.enum)) return schema.enum.every((one) => typeof one === "string") ? "choice" : "json";
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter((one) => one !== undefined && one !== "null");
  const type = types.length === 1 ? types[0] : undefined;
  if (type === "object") return isObject(schema.properties) ? "object" : "json";
  if (type === "array") return isObject(schema.items) ? "list" : "json";
  if (type === "boolean") return "yes or no";
  if (type === "integer" || type === "number") return "number";
  return type === "string" ? "text" : "json";
}

/** What a new item of a list begins with. */
export function emptyValue(schema: Schema, depth: number): Json {
  if (schema.default !== undefined) return schema.default;
  const kind = kindOf(schema, depth);
  return kind === "object" ? {} : kind === "list" ? [] : kind === "text" || kind === "choice" ? "" : null;
}

/** What a form begins with: a list that is needed has an item to fill in. */
export function firstValue(schema: Schema, whole: Schema): Json {
  const needed = Array.isArray(schema.required) ? schema.required : [];
  const lists = needed.flatMap((name) => {
    const property = resolveSchema(schema.properties?.[name] ?? {}, whole);
    return kindOf(property, 1) === "list" ? [[name, [emptyValue(resolveSchema(property.items ?? {}, whole), 2)]] as [string, Json]] : [];
  });
  return Object.fromEntries(lists);
}

function follow(reference: string, whole: Schema): Schema {
  if (!reference.startsWith("#/")) return {};
  let found: unknown = whole;
  for (const part of reference.slice(2).split("/")) {
    if (!isObject(found) || !Object.hasOwn(found, part)) return {};
    found = (found as Record<string, unknown>)[part];
  }
  return isObject(found) ? (found as Schema) : {};
}

function withoutReference({ $ref: _, ...rest }: Schema): Schema {
  return rest;
}

function withoutChoices({ anyOf: _, oneOf: __, ...rest }: Schema): Schema {
  return rest;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
