import { Component, type ComponentChild, h } from "preact";
import type { Inbox } from "./inbox";
import { button, marks, moment, typeOf } from "./parts";
import type { Entry } from "./store";

interface Props {
  inbox: Inbox;
  entry: Entry;
  /** How many popups wait behind this one. */
  waiting: number;
}

/**
 * A modal notice that waits for an ack. Esc puts it off. The focus goes to the dialog itself, so that the Enter that a
 * scanner sends after a code acks nothing. When the popup closes, the focus goes back.
 */
export class Popup extends Component<Props> {
  override componentDidMount(): void {
    this.dialog.showModal();
    this.dialog.focus();
  }

  override componentWillUnmount(): void {
    this.dialog.close(); // close gives the focus back; a removal alone does not
  }

  private get dialog(): HTMLDialogElement {
    return this.base as HTMLDialogElement;
  }

  override render({ inbox, entry, waiting }: Props): ComponentChild {
    const { id, title, body, warehouse } = entry.notice;
    const later = () => inbox.later(id);
    return h(
      "dialog",
      {
        class: "popup",
        part: "popup",
        role: "alertdialog",
        "aria-labelledby": "popup-title",
        "aria-describedby": "popup-marks popup-body",
        tabindex: -1,
        onCancel: (event: Event) => {
          event.preventDefault();
          later();
        },
        // If the user has not touched the page since the dialog opened, Esc closes the dialog without onCancel.
        onClose: () => this.base && later(), // without a base the popup has gone already
      },
      h("h2", { id: "popup-title" }, title),
      h(
        "p",
        { id: "popup-marks", class: "marks", part: "marks" },
        marks(inbox, entry),
        typeOf(inbox, entry),
        h("span", {}, inbox.text("warehouse", { name: warehouse })),
        moment(inbox, entry),
      ),
      h("p", { id: "popup-body", class: "body" }, body),
      inbox.failure !== "" && h("p", { key: "failure", class: "banner bad", role: "alert" }, inbox.failure),
      h(
        "div",
        { key: "acts", class: "acts" },
        button("main", inbox.text("acknowledge"), () => inbox.ack(entry)),
        button("plain", inbox.text("later"), later),
        waiting > 0 && h("span", { class: "waiting" }, inbox.text("waiting", { count: waiting })),
      ),
    );
  }
}
