import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const ground = "var(--sunken)";

/**
 * A sign of the gutter, drawn with type. The editor's own signs are images, which the console's policy does not load.
 */
const sign = (colour: string, content: string) => ({
  content: `"${content}"`,
  color: colour,
  fontWeight: "700",
  textAlign: "center",
});
const wave = (colour: string) => ({
  backgroundImage: "none",
  paddingBottom: "0",
  textDecoration: `underline wavy ${colour}`,
  textUnderlineOffset: "3px",
});

const look = EditorView.theme({
  "&": {
    backgroundColor: ground,
    color: "var(--ink)",
    fontSize: "var(--text-small)",
    borderRadius: "0.3125rem",
  },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6", maxHeight: "70dvh", minHeight: "6rem" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: ground, color: "var(--ink-faint)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  ".cm-content ::selection": { backgroundColor: "color-mix(in oklab, var(--accent) 30%, transparent)" },
  ".cm-gutter-lint": { width: "1.4em" },
  ".cm-lint-marker": { content: "normal" },
  ".cm-lint-marker-error": { content: "normal" },
  ".cm-lint-marker-error::before": sign("var(--bad)", "●"),
  ".cm-lintRange-error": wave("var(--bad)"),
  ".cm-lintPoint::after": { borderBottomColor: "var(--bad)" },
  ".cm-tooltip": {
    border: "1px solid var(--line)",
    borderRadius: "0.3125rem",
    backgroundColor: "var(--raised)",
    color: "var(--ink)",
    boxShadow: "var(--shadow)",
    maxWidth: "min(40rem, 90vw)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "16em" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "0.25rem 0.75rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--accent-ink)",
  },
  ".cm-completionDetail": { color: "inherit", fontStyle: "normal" },
  ".cm-completionInfo": { padding: "0.5rem 0.75rem", fontFamily: "var(--sans)" },
  ".cm-diagnostic": { fontFamily: "var(--sans)", padding: "0.5rem 0.75rem", whiteSpace: "pre-wrap" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.content], color: "var(--ink)" },
  { tag: tags.comment, color: "var(--ink-faint)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.typeName, tags.labelName, tags.meta], color: "var(--info)" },
  { tag: [tags.punctuation, tags.separator, tags.brace, tags.squareBracket], color: "var(--ink-soft)" },
]);

/** The colours of the console, in both schemes. */
export const theme: Extension = [look, syntaxHighlighting(colours)];
