import type { Inbox } from "./inbox";
import { button, marks, origin } from "./parts";
import type { Entry } from "./store";
import { h, type Plan } from "./view";

/** A modal notice that waits for an ack. Esc puts it off. */
export function popup(inbox: Inbox, entry: Entry, waiting: number): Plan {
  const { id, title, body } = entry.notice;
  return h(
    "dialog",
    {
      key: id,
      class: "popup",
      part: "popup",
      role: "alertdialog",
      "aria-labelledby": "popup-title",
      "aria-describedby": "popup-marks popup-body",
      tabindex: -1,
      ref: (element) => show(element as HTMLDialogElement, () => inbox.later(id)),
      oncancel: (event: Event) => {
        event.preventDefault();
        inbox.later(id);
      },
    },
    origin(inbox, entry),
    h("h2", { id: "popup-title" }, title),
    marks(inbox, entry, "popup-marks", true),
    h("p", { id: "popup-body", class: "body" }, body),
    inbox.failure !== "" && h("p", { class: "banner bad", role: "alert" }, inbox.failure),
    h(
      "div",
      { class: "acts" },
      button("main", inbox.text("acknowledge"), () => inbox.mark(entry, "acked")),
      button("plain", inbox.text("later"), () => inbox.later(id)),
      waiting > 0 && h("span", { class: "waiting" }, inbox.text("waiting", { count: waiting })),
    ),
  );
}

/** The focus goes to the dialog itself: the Enter that a scanner sends after a code acks nothing. Afterwards it goes back. */
function show(dialog: HTMLDialogElement, later: () => void): () => void {
  dialog.showModal();
  dialog.focus();
  // Esc closes it without asking where the user has not touched the page since it opened.
  dialog.addEventListener("close", later);
  return () => {
    dialog.removeEventListener("close", later);
    dialog.close();
  };
}
