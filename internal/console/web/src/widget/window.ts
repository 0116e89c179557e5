import { Component, type ComponentChild, h } from "preact";
import type { Inbox } from "./inbox";
import { list } from "./list";
import { button, icon } from "./parts";

interface Props {
  inbox: Inbox;
  close: () => void;
  /** Called when the window is in the page. The returned function is called when the window goes. */
  opened: (element: HTMLElement) => () => void;
}

/** The floating window. */
export class FloatingWindow extends Component<Props> {
  private end = () => {};

  override componentDidMount(): void {
    this.end = this.props.opened(this.base as HTMLElement);
  }

  override componentWillUnmount(): void {
    this.end();
  }

  override render({ inbox, close }: Props): ComponentChild {
    return h(
      "div",
      { class: "window", part: "window", role: "dialog", "aria-labelledby": "title", tabindex: -1 },
      head(inbox, close),
      filters(inbox),
      ...banners(inbox),
      ...list(inbox),
      foot(inbox),
    );
  }
}

function head(inbox: Inbox, close: () => void): ComponentChild {
  const label = inbox.text("close");
  const props = {
    part: "button",
    type: "button",
    "aria-label": label,
    title: label,
    onClick: close,
  } as const;
  return h(
    "div",
    { class: "head", part: "header" },
    h("h2", { id: "title" }, inbox.text("title")),
    h("p", { class: "updated", part: "updated" }, updated(inbox)),
    h("button", { class: "plain close", ...props }, icon(20, "M6 6l12 12M18 6 6 18")),
  );
}

/** The banners: the last request that failed, and the current trouble. */
function banners(inbox: Inbox): ComponentChild[] {
  const { failure, trouble } = inbox;
  return [
    failure !== "" &&
      h(
        "p",
        { key: "failure", class: "banner bad", part: "failure", role: "alert" },
        h("span", {}, failure),
        button("plain", inbox.text("dismiss"), () => inbox.update({ failure: "" })),
      ),
    trouble &&
      inbox.entries.length > 0 &&
      h(
        "p",
        { key: "trouble", class: "banner", part: "trouble", role: "status" },
        h("span", {}, inbox.text(trouble)),
        button("plain", inbox.text("retry"), () => inbox.retry()),
      ),
  ];
}

function updated(inbox: Inbox): string {
  const { heardAt, status } = inbox.health;
  if (!heardAt) {
    return "";
  }
  const key = inbox.trouble ? "notUpdated" : status === "polling" ? "polling" : "updated";
  return inbox.text(key, { when: inbox.ago(heardAt) });
}

function filters(inbox: Inbox): ComponentChild {
  const { filter } = inbox;
  const toggle = (name: "unread" | "urgent", label: string) =>
    button("chip", label, () => inbox.update({ filter: { ...filter, [name]: !filter[name] } }), {
      part: "filter",
      "aria-pressed": filter[name],
    });
  const onChange = (event: Event) =>
    inbox.update({ filter: { ...inbox.filter, type: (event.target as HTMLSelectElement).value } });
  return h(
    "div",
    { class: "filters", part: "filters", role: "group", "aria-label": inbox.text("filters") },
    toggle("unread", inbox.text("onlyUnread")),
    toggle("urgent", inbox.text("onlyUrgent")),
    h(
      "select",
      { class: "chip", part: "filter", "aria-label": inbox.text("type"), value: filter.type, onChange },
      h("option", { value: "" }, inbox.text("allTypes")),
      inbox.typesHere().map(([code, name]) => h("option", { key: code, value: code }, name)),
    ),
  );
}

/** To mark all notices as read has no undo, so the foot asks first, in the place of the button. */
function foot(inbox: Inbox): ComponentChild {
  const { count, asking } = inbox;
  if (count.unread === 0) {
    return false;
  }
  const end = () => inbox.update({ asking: false });
  return h(
    "div",
    { class: "foot", part: "footer" },
    ...(asking
      ? [
          h(
            "p",
            { role: "alert" },
            inbox.text(count.more ? "confirmMany" : "confirmAll", { count: count.unread }),
          ),
          button("main", inbox.text("confirm"), () => (end(), inbox.readAll()), {
            key: "yes",
            ref: takeFocus,
          }),
          button("plain", inbox.text("cancel"), end, { key: "no" }),
        ]
      : [button("plain", inbox.text("markAll"), () => inbox.update({ asking: true }), { key: "all" })]),
  );
}

/** Gives the focus to an element that has just come. The function is always the same, so that it runs only once. */
function takeFocus(element: HTMLElement | null): void {
  element?.focus();
}
