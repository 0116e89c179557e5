import { h, render } from "preact";
import { bell } from "./bell";
import type { Inbox } from "./inbox";
import { keyAction } from "./keys";
import { act } from "./list";
import { anchor } from "./place";
import { Popup } from "./popup";
import { FloatingWindow } from "./window";

/** Draws an inbox into a shadow root. */
export class Root {
  private due = false;

  constructor(
    private readonly shadow: ShadowRoot,
    private readonly inbox: Inbox,
  ) {}

  /** Draws soon, once for all changes until then. */
  draw(): void {
    if (!this.due) {
      this.due = true;
      queueMicrotask(() => {
        this.due = false;
        this.drawNow();
      });
    }
  }

  /** Takes everything away. */
  clear(): void {
    render(null, this.shadow);
  }

  private drawNow(): void {
    if (!this.shadow.host.isConnected) {
      return;
    }
    const { inbox } = this;
    const focused = this.shadow.activeElement;
    const next = inbox.popup;
    render(
      h(
        "div",
        { class: "root", lang: inbox.locale, onKeyDown: (event: KeyboardEvent) => this.key(event) },
        bell(inbox),
        h("p", { class: "hidden", role: "status" }, inbox.announcement),
        inbox.open &&
          h(FloatingWindow, {
            inbox,
            close: () => this.close(),
            opened: (element) => this.opened(element),
          }),
        next && h(Popup, { key: next.entry.notice.id, inbox, ...next }),
      ),
      this.shadow,
    );
    if (focused && !focused.isConnected && inbox.open && !next) {
      this.act("next", this.shadow.querySelector(".bell")!); // the focused button is gone, so the focus goes to the current card
    }
  }

  private opened(element: HTMLElement): () => void {
    const end = anchor(element, this.shadow.querySelector<HTMLElement>(".bell")!);
    if (!this.act("first", element)) {
      element.focus();
    }
    return end;
  }

  private close(): void {
    this.inbox.hide();
    this.shadow.querySelector<HTMLElement>(".bell")?.focus();
  }

  // Keys count only while the focus is in the widget. The page does not get the keys that the widget knows.
  private key(event: KeyboardEvent): void {
    const { inbox } = this;
    const action = inbox.open && !inbox.popup ? keyAction(event) : undefined;
    if (!action) {
      return;
    }
    if (action === "close") {
      this.close();
    } else if (!this.act(action, event.target as Element)) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  private act(action: Parameters<typeof act>[2], target: Element): boolean {
    return act(this.inbox, this.shadow.querySelector<HTMLElement>(".list")!, action, target);
  }
}
