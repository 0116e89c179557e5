/** The parts of a JSON Schema that the completion needs. */
export interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  description?: string;
  enum?: readonly unknown[];
  const?: unknown;
  properties?: Readonly<Record<string, Schema>>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  allOf?: readonly Schema[];
  definitions?: Readonly<Record<string, Schema>>;
}

/** Something that may be written at a place. */
export interface Offer {
  label: string;
  /** The type. */
  detail: string;
  info: string;
}

/** Returns the keys that may stand below a path in a rule, or the values of a key there. */
export function offers(whole: Schema, path: readonly string[], key: string | undefined): Offer[] {
  let at = forms(whole, [whole.definitions?.["rule"] ?? {}]);
  for (const each of path)
    at = forms(
      whole,
      at.map((schema) => below(schema, each)),
    );
  if (key === undefined) return keys(whole, at);
  return values(
    forms(
      whole,
      at.map((schema) => below(schema, key)),
    ),
  );
}

/** Returns the schemas that a value may have, with references and choices resolved. */
function forms(whole: Schema, list: readonly (Schema | undefined)[]): Schema[] {
  return list.flatMap((schema) => {
    if (!schema) return [];
    if (schema.$ref) return forms(whole, [find(whole, schema.$ref)]);
    const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
    const items = schema.items ? [schema.items] : []; // an item of a list stands where the list does
    return [schema, ...forms(whole, [...choices, ...items])];
  });
}

function find(whole: Schema, ref: string): Schema | undefined {
  let at: unknown = whole;
  for (const part of ref.replace(/^#\//, "").split("/"))
    at = (at as Record<string, unknown> | undefined)?.[part];
  return at as Schema | undefined;
}

function below(schema: Schema, key: string): Schema | undefined {
  const { properties, additionalProperties: other } = schema;
  return properties?.[key] ?? (typeof other === "object" ? other : undefined);
}

function keys(whole: Schema, at: readonly Schema[]): Offer[] {
  const found = new Map<string, Offer>();
  for (const { properties = {} } of at) {
    for (const [label, schema] of Object.entries(properties)) {
      const all = forms(whole, [schema]);
      const detail = [...new Set(all.flatMap((form) => form.type ?? []))].join(" | ");
      const info = schema.description ?? all.find((form) => form.description)?.description ?? "";
      if (!found.has(label)) found.set(label, { label, detail, info });
    }
  }
  return [...found.values()];
}

function values(at: readonly Schema[]): Offer[] {
  const found = new Map<string, Offer>();
  const note = (value: unknown, info = "") =>
    found.set(String(value), { label: String(value), detail: "", info });
  for (const form of at) {
    for (const value of form.enum ?? []) note(value, form.description);
    if (form.const !== undefined) note(form.const, form.description);
    if (form.type === "boolean") for (const value of [true, false]) note(value);
  }
  return [...found.values()];
}
