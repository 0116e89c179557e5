import { type ComponentChild, h } from "preact";
import type { Inbox } from "./inbox";
import type { Action } from "./keys";
import { notice } from "./notice";
import { button } from "./parts";

/** The list, and above it a button if notices are held back. */
export function list(inbox: Inbox): ComponentChild[] {
  const { drawn, size, heldBack, all } = inbox.list();
  const current = drawn.find((card) => card.entry.notice.id === inbox.current) ?? drawn[0];
  const here = (event: Event) => event.currentTarget as HTMLElement;
  return [
    heldBack > 0 &&
      button("pill", inbox.text("pill", { count: heldBack }), (event) => showNew(inbox, event), {
        key: "pill",
        part: "pill",
      }),
    h(
      "div",
      {
        key: "list",
        class: "list",
        onFocusIn: () => inbox.reading(true),
        onFocusOut: (event: FocusEvent) => inbox.reading(isReading(here(event), event.relatedTarget)),
        onScroll: (event: Event) =>
          inbox.reading(isReading(here(event), (here(event).getRootNode() as ShadowRoot).activeElement)),
      },
      drawn.length === 0
        ? state(inbox, all)
        : h(
            "div",
            {
              key: "feed",
              class: "feed",
              part: "feed",
              role: "feed",
              "aria-labelledby": "title",
              "aria-busy": !inbox.loaded,
            },
            drawn.map((card, i) =>
              notice(inbox, card, i, inbox.older === "none" ? size : -1, card === current),
            ),
          ),
      inbox.hasOlder &&
        button(
          "plain more",
          inbox.text(inbox.older === "loading" ? "searching" : "older"),
          () => inbox.showOlder(),
          { key: "older", disabled: inbox.older === "loading" },
        ),
    ),
  ];
}

/** The text in the place of an empty list. Each reason has its own text. */
function state(inbox: Inbox, all: number): ComponentChild {
  const { trouble } = inbox;
  const filtered = inbox.filtering && all > 0;
  const key = filtered ? "filtered" : (trouble ?? (inbox.loaded ? "empty" : "loading"));
  return h(
    "div",
    { key: "state", class: "state", part: "state", "data-state": key, role: trouble ? "alert" : undefined },
    key === "loading" &&
      h("div", { class: "skeleton", "aria-hidden": true }, h("i", {}), h("i", {}), h("i", {})),
    h("p", {}, inbox.text(key)),
    filtered &&
      button("plain", inbox.text("clear"), () =>
        inbox.update({ filter: { unread: false, urgent: false, type: "" } }),
      ),
    !filtered && !!trouble && button("plain", inbox.text("retry"), () => inbox.retry()),
    !filtered && !!trouble && inbox.health.detail !== "" && h("p", { class: "origin" }, inbox.health.detail),
  );
}

/** Runs the action of a key on the list. Returns false if there was nothing to do. */
export function act(
  inbox: Inbox,
  list: HTMLElement,
  action: Exclude<Action, "close">,
  target: Element,
): boolean {
  const { drawn } = inbox.list();
  const at = drawn.findIndex((card) => card.entry.notice.id === inbox.current);
  const card = drawn[at];
  if (action === "choose" || action === "read") {
    if (!card || (action === "choose" && !target.matches("article"))) {
      return false;
    }
    inbox[action](card);
    return true;
  }
  const next = list.contains(target) ? at + 1 : Math.max(at, 0);
  const to = { first: 0, last: drawn.length - 1, next, previous: at - 1 }[action];
  const article = list.querySelectorAll<HTMLElement>("article")[Math.max(0, Math.min(to, drawn.length - 1))];
  article?.focus();
  return !!article;
}

/**
 * Returns whether the user reads: the focus is in the list, the list is scrolled, or the focus is on the pill. Nothing
 * moves then.
 */
function isReading(list: HTMLElement, focused: EventTarget | null): boolean {
  const element = focused as Element | null;
  return list.scrollTop > 8 || list.contains(element) || !!element?.matches(".pill");
}

function showNew(inbox: Inbox, { currentTarget: pill }: MouseEvent): void {
  const list = (pill as HTMLElement).nextElementSibling as HTMLElement;
  list.scrollTop = 0;
  inbox.current = "";
  inbox.reading(false);
  queueMicrotask(() => act(inbox, list, "first", list)); // when the cards are drawn
}
