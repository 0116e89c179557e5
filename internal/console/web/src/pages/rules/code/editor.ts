import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { Compartment, EditorState, Prec, type Extension, type Text } from "@codemirror/state";
import {
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import type { Problem } from "../model";
import { theme } from "./theme";

export interface EditorOptions {
  /**
   * A shadow root. In it, the editor's styles are constructed style sheets. In the document, the editor would add a
   * style element, which the console's policy forbids.
   */
  root: ShadowRoot;
  text: string;
  label: string;
  /** The number of the first line in its file. */
  firstLine: number;
  /** Called with the text after each input. Without onchange the text is read-only. */
  onchange?: ((text: string) => void) | undefined;
  /** Called for Ctrl+Enter, Cmd+Enter on a Mac. */
  onrun?: (() => void) | undefined;
}

/** A text of a rule in an editor. */
export class Editor {
  readonly #view: EditorView;
  readonly #completion = new Compartment();
  #destroyed = false;

  constructor({ root, text, label, firstLine, onchange, onrun }: EditorOptions) {
    this.#view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: text,
        extensions: [
          yaml(),
          lineNumbers({ formatNumber: (number) => String(number + firstLine - 1) }),
          lintGutter(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          theme,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }), // the keyboard must reach what scrolls
          onchange ? writing(onchange, onrun) : EditorState.readOnly.of(true),
          this.#completion.of([]),
        ],
      }),
    });
    if (onchange) void this.#complete();
  }

  /** Loads the completion for a text that can be written. The user can write before the completion is there. */
  async #complete(): Promise<void> {
    const { completion } = await import("./complete");
    if (!this.#destroyed) this.#view.dispatch({ effects: this.#completion.reconfigure(completion) });
  }

  get text(): string {
    return this.#view.state.doc.toString();
  }

  /** Replaces the whole text. */
  set text(text: string) {
    if (text === this.text) return;
    this.#view.dispatch({ changes: { from: 0, to: this.#view.state.doc.length, insert: text } });
  }

  /** Marks problems. Their lines count from the first line of the text. */
  mark(problems: readonly Problem[]): void {
    const { doc } = this.#view.state;
    const found = problems.filter((problem) => problem.line > 0).map((problem) => diagnostic(doc, problem));
    this.#view.dispatch(setDiagnostics(this.#view.state, found));
  }

  /** Puts the cursor where a problem is. */
  go(problem: Problem): void {
    const anchor = range(this.#view.state.doc, problem).from;
    this.#view.dispatch({
      selection: { anchor },
      effects: EditorView.scrollIntoView(anchor, { y: "center" }),
    });
    this.#view.focus();
  }

  destroy(): void {
    this.#destroyed = true;
    this.#view.destroy();
  }
}

/** The extensions for writing. Tab indents. Escape and then Tab leaves the editor, which the editor has built in. */
function writing(onchange: (text: string) => void, onrun?: () => void): Extension {
  const run = { key: "Mod-Enter", run: () => (onrun?.(), onrun !== undefined) };
  return [
    Prec.high(keymap.of([run])),
    history(),
    keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onchange(update.state.doc.toString());
    }),
  ];
}

function diagnostic(doc: Text, problem: Problem): Diagnostic {
  const { code, message, hint } = problem;
  return {
    ...range(doc, problem),
    severity: "error",
    message: hint ? `${code}: ${message}\n${hint}` : `${code}: ${message}`,
  };
}

/** Returns the range from the place of a problem to the end of the word there. */
export function range(doc: Text, { line: number, col }: Problem): { from: number; to: number } {
  const line = doc.line(Math.min(Math.max(number, 1), doc.lines));
  const from = Math.min(line.from + Math.max(col - 1, 0), line.to);
  const word = /^[\w.-]+|^\S/.exec(line.text.slice(from - line.from))?.[0].length ?? 0;
  return { from, to: from + word };
}
