import type { Schemas } from "../../api/client";
import { Failure, type Fault } from "../../api/failure";
import { partsOf, wordsOf, type WordsDraft } from "./words";

export type Type = Schemas["Type"];

/** The types that a field of a notice may have. */
export const fieldTypes = ["string", "int", "decimal", "bool", "time"] as const;

/** A field while it is edited. It may have no name yet, or the name of another field. */
export interface FieldDraft {
  key: number;
  name: string;
  type: (typeof fieldTypes)[number];
  required: boolean;
}

/** A type while it is edited. */
export interface Draft {
  code: string;
  id: number | null;
  name: string;
  /** By language: English and Chinese always, others where the type has them. */
  names: Record<string, string>;
  category: string;
  retention: string;
  fields: FieldDraft[];
  words: WordsDraft;
}

/** Returns the draft of a type, or of a new type. */
export function draftOf(type?: Type): Draft {
  return {
    code: type?.code ?? "",
    id: type?.id ?? null,
    name: type?.name ?? "",
    names: { en: "", zh: "", ...type?.names },
    category: type?.category ?? "",
    retention: type?.retention ?? "",
    fields: Object.entries(type?.fields ?? {}).map(([name, field], key) => ({
      key,
      name,
      type: field.type,
      required: field.required ?? false,
    })),
    words: wordsOf(type),
  };
}

/** Returns a field to add below the others. */
export function newField(fields: readonly FieldDraft[]): FieldDraft {
  return {
    key: Math.max(-1, ...fields.map((field) => field.key)) + 1,
    name: "",
    type: "string",
    required: false,
  };
}

/** Converts a draft to a type. Throws a Failure if two fields have the same name, because a type cannot have both. */
export function typeOf(draft: Draft, texts: { twice: (name: string) => string }): Type {
  const fields: NonNullable<Type["fields"]> = {};
  const faults: Fault[] = [];
  for (const { name: given, type, required } of draft.fields) {
    const name = given.trim();
    if (Object.hasOwn(fields, name)) {
      faults.push({ location: `body.fields.${name}`, message: texts.twice(name) });
    }
    fields[name] = { type, ...(required && { required }) };
  }
  if (faults.length > 0) throw new Failure("invalid", 0, "invalid_body", faults[0]!.message, faults);
  const names = Object.fromEntries(
    Object.entries(draft.names)
      .map(([language, name]) => [language, name.trim()] as const)
      .filter(([, name]) => name !== ""),
  );
  return {
    code: draft.code.trim(),
    id: draft.id ?? 0,
    name: draft.name.trim(),
    ...(Object.keys(names).length > 0 && { names }),
    ...(draft.category.trim() && { category: draft.category.trim() }),
    ...(draft.retention.trim() && { retention: draft.retention.trim() }),
    ...(draft.fields.length > 0 && { fields }),
    ...partsOf(draft.words),
  };
}

/** Returns the name of a type in a language. */
export function nameOf(type: Pick<Type, "name" | "names">, locale: string): string {
  return type.names?.[locale] ?? type.name;
}

/** Tallyman's own types are in every catalogue and stay as they are. */
export function builtIn(code: string): boolean {
  return code.startsWith("TALLYMAN_");
}

/** Returns whether the code, the id, the names or the category of a type match the search. */
export function matches(type: Type, search: string): boolean {
  const text = [type.code, type.id, type.name, ...Object.values(type.names ?? {}), type.category ?? ""];
  return text.join("\n").toLowerCase().includes(search.trim().toLowerCase());
}
