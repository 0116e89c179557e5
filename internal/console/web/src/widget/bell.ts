import { type ComponentChild, h } from "preact";
import { formatNumber } from "../lib/text";
import type { Inbox } from "./inbox";
import { icon } from "./parts";
import { bellLabel } from "./text";

/** The button that shows the number of unread notices, and opens the window. */
export function bell(inbox: Inbox): ComponentChild {
  const { count, open } = inbox;
  const known = inbox.loaded; // before that, only a part of the notices has come
  const label = known ? bellLabel(inbox.locale, count) : inbox.text("title");
  const some = known && count.unread > 0;
  const paths = [
    "M6 9.5a6 6 0 0 1 12 0c0 6 2.2 7.5 2.2 7.500H3.800S6 15.5 6 9.5",
    "M10 20.200a2.3 2.3 0 0 0 4 0",
  ];
  const unread = formatNumber(inbox.locale, count.unread); // as the label writes it
  const badge = (count.urgent > 0 ? "!" : "") + unread + (count.more ? "+" : "");
  return h(
    "button",
    {
      class: "bell",
      part: "bell",
      type: "button",
      "aria-label": label,
      title: label,
      "aria-haspopup": "dialog",
      "aria-expanded": open,
      onClick: () => (open ? inbox.hide() : inbox.show()),
    },
    icon(24, ...paths, ...(inbox.trouble ? ["m4 4 16 16"] : [])),
    some &&
      h(
        "span",
        { class: count.urgent > 0 ? "badge urgent" : "badge", part: "badge", "aria-hidden": true },
        badge,
      ),
  );
}
