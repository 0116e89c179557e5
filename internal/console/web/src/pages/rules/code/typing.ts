import { EditorSelection, type Extension } from "@codemirror/state";
import { keymap, type EditorView } from "@codemirror/view";

const unit = "  ";

/** A new line begins below the one before, and deeper after what opens a mapping. */
function newline(view: EditorView): boolean {
  const { state } = view;
  view.dispatch(
    state.changeByRange((range) => {
      const line = state.doc.lineAt(range.from);
      const before = line.text.slice(0, range.from - line.from);
      const indent = /^\s*(- )?/.exec(before)?.[0].replace("-", " ") ?? "";
      const insert = `\n${indent}${/[:|>]\s*$/.test(before) ? unit : ""}`;
      return {
        changes: { from: range.from, to: range.to, insert },
        range: EditorSelection.cursor(range.from + insert.length),
      };
    }),
    { scrollIntoView: true, userEvent: "input" },
  );
  return true;
}

/** Moves the lines of the selection deeper, or back. */
function shift(view: EditorView, deeper: boolean): boolean {
  const { doc, selection } = view.state;
  const { from, to, empty } = selection.main;
  if (deeper && empty) {
    view.dispatch(view.state.replaceSelection(unit), { userEvent: "input" });
    return true;
  }
  const changes = [];
  for (let number = doc.lineAt(from).number; number <= doc.lineAt(to).number; number++) {
    const line = doc.line(number);
    const room = /^ {0,2}/.exec(line.text)?.[0].length ?? 0;
    changes.push(
      deeper ? { from: line.from, insert: unit } : { from: line.from, to: line.from + room, insert: "" },
    );
  }
  view.dispatch({ changes, userEvent: "input" });
  return true;
}

/** The keys of somebody who writes YAML. Tab moves text; Escape and then Tab leaves, as the editor has it built in. */
export const typing: Extension = keymap.of([
  { key: "Enter", run: newline },
  { key: "Tab", run: (view) => shift(view, true), shift: (view) => shift(view, false) },
]);
