import { autocompletion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import type { Extension } from "@codemirror/state";
import schema from "../../../../../../../configs/rule.schema.json";
import { placeAt } from "./place";
import { offers, type Schema } from "./schema";

/**
 * Offers the fields of rules and their values, from the schema of rule files. The editor loads this file only for a
 * text that can be written.
 */
export const completion: Extension = autocompletion({ override: [complete], icons: false });

function complete({ state, pos, explicit }: CompletionContext): CompletionResult | null {
  const place = placeAt(state.doc.sliceString(0, pos));
  if (!place || (!explicit && place.word === "" && place.key === undefined)) return null;
  const found = offers(schema as unknown as Schema, place.path, place.key).filter(
    ({ label }) => !place.beside.includes(label),
  );
  if (found.length === 0) return null;
  return {
    from: pos - place.word.length,
    options: found.map(({ label, detail, info }) => ({
      label,
      detail,
      ...(info && { info }),
      apply: place.key === undefined ? `${label}: ` : label,
    })),
    validFor: /^[\w.-]*$/,
  };
}
