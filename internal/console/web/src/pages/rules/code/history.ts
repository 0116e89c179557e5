import { Annotation, type ChangeSet, type Extension } from "@codemirror/state";
import { EditorView, keymap, type ViewUpdate } from "@codemirror/view";

const taken = Annotation.define<boolean>();

/** What is typed within this time is taken back together. */
const pause = 600;

/** Takes edits back and brings them again. */
class History {
  #past: ChangeSet[] = [];
  #future: ChangeSet[] = [];
  #last = 0;

  note(update: ViewUpdate): void {
    for (const transaction of update.transactions) {
      if (!transaction.docChanged || transaction.annotation(taken)) continue;
      const back = transaction.changes.invert(transaction.startState.doc);
      const now = Date.now();
      const before = this.#past.at(-1);
      if (before && now - this.#last < pause && transaction.isUserEvent("input.type")) {
        this.#past[this.#past.length - 1] = back.compose(before);
      } else {
        this.#past.push(back);
      }
      this.#last = now;
      this.#future = [];
    }
  }

  undo(view: EditorView): boolean {
    return this.#move(view, this.#past, this.#future);
  }

  redo(view: EditorView): boolean {
    return this.#move(view, this.#future, this.#past);
  }

  #move(view: EditorView, from: ChangeSet[], to: ChangeSet[]): boolean {
    const changes = from.pop();
    if (changes) {
      to.push(changes.invert(view.state.doc));
      this.#last = 0;
      view.dispatch({ changes, annotations: taken.of(true), scrollIntoView: true });
    }
    return true;
  }
}

/** Undo and redo with the keys that every editor has. */
export function history(): Extension {
  const kept = new History();
  return [
    EditorView.updateListener.of((update) => kept.note(update)),
    keymap.of([
      { key: "Mod-z", run: (view) => kept.undo(view) },
      { key: "Mod-y", run: (view) => kept.redo(view) },
      { key: "Mod-Shift-z", run: (view) => kept.redo(view) },
    ]),
  ];
}
