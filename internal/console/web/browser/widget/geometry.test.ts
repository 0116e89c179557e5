import { expect, test } from "vitest";
import { fixture, type Widget } from "./fixture";

// What a user sees is measured, in each language and each scheme, on a desk and on a handheld.

const shared = fixture();

const devices = {
  desk: { viewport: { width: 1440, height: 640 } },
  handheld: { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true },
};

const bin = (i: number, more: object = {}) => ({
  type: "REP_NOTICE",
  data: { bin: `A-0${i}`, qty: `-${i}` },
  texts: {
    en: {
      title: `Bin A-0${i} is at -${i}`,
      body: `S00${i} in A-0${i} went to -${i} in wave 1011. Replenish it before the next wave begins.`,
    },
    zh: {
      title: `货位 A-0${i} 库存为 -${i}`,
      body: `波次 1011 中，A-0${i} 的 S00${i} 库存降到 -${i}。请在下一个波次开始之前补货。`,
    },
  },
  ...more,
});

/** What the window shows, as a user sees it. */
const measure = (widget: Widget) =>
  widget.page.evaluate(() => {
    const root = document.querySelector("tallyman-inbox")!.shadowRoot!;
    const all = (selector: string) => [...root.querySelectorAll<HTMLElement>(selector)];
    const rect = (element: Element) => element.getBoundingClientRect();
    const meet = (a: DOMRect, b: DOMRect) =>
      a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5;
    const contains = (a: DOMRect, b: DOMRect) =>
      b.left >= a.left - 0.5 &&
      b.right <= a.right + 0.5 &&
      b.top >= a.top - 0.5 &&
      b.bottom <= a.bottom + 0.5;
    /** Where the letters of an element are. */
    const letters = (element: Element) => {
      const range = document.createRange();
      range.selectNodeContents(element);
      return [...range.getClientRects()];
    };
    const [bell, badge, bellIcon] = [".bell", ".badge", ".bell .icon"].map((each) => rect(all(each)[0]!));
    const list = rect(all(".list")[0]!);
    const cards = all("article");
    const looks = (card: HTMLElement) => {
      const [own, title] = [card, card.querySelector(".title")!].map((each) => getComputedStyle(each));
      return [own!.backgroundColor, own!.borderInlineStart, title!.fontWeight, title!.color].join(" ");
    };
    const isSeen = (element: Element) => rect(element).width > 1 && rect(element).height > 1;
    return {
      badgeOnBell: meet(badge!, bellIcon!),
      badgeInBell: contains(bell!, badge!),
      whole: cards.filter((card) => contains(list, rect(card))).length,
      // The marks that differ between what is unread and what is read.
      unreadMarks: cards.map(
        (card) =>
          [...card.querySelectorAll(".dot")].filter(isSeen).length +
          [...card.querySelectorAll(".marks > *")].filter(
            (each) => isSeen(each) && /^(Unread|未读)$/.test(each.textContent!),
          ).length,
      ),
      looks: [...new Set(cards.map(looks))].length,
      // Text that is cut off, but for bodies that are folded.
      clipped: all(".head *, .filters button, article *, .foot *")
        .filter((each) => !each.matches(".short, .hidden, svg, svg *, .dot"))
        .filter(
          (each) => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== "inline",
        )
        .map((each) => each.outerHTML.slice(0, 120)),
      outside: cards.flatMap((card) =>
        [...card.querySelectorAll(".title, time, .marks > :not(.hidden), .body")]
          .filter((each) => !letters(each).every((one) => one.left >= list.left && one.right <= list.right))
          .map((each) => each.outerHTML.slice(0, 120)),
      ),
      // Letters under a button of the card.
      covered: cards.flatMap((card) =>
        [...card.querySelectorAll(".dot, .main")].flatMap((button) =>
          [...card.querySelectorAll(".title, time, .marks > :not(.hidden), .body")]
            .filter((each) => letters(each).some((one) => meet(one, rect(button))))
            .map((each) => `${button.className}: ${each.outerHTML.slice(0, 120)}`),
        ),
      ),
      buttonsMeet: cards.some((card) => {
        const [dot, main] = [card.querySelector(".dot"), card.querySelector(".main")];
        return !!dot && !!main && meet(rect(dot), rect(main));
      }),
      figures: getComputedStyle(cards[0]!).fontVariantNumeric,
    };
  });

for (const lang of ["en", "zh-CN"] as const) {
  for (const [name, device] of Object.entries(devices)) {
    test(`five notices fit into 640 px, each unread once, and the count is beside the bell: ${lang}, ${name}`, async () => {
      const user = `geo-${lang}-${name}`;
      await shared.users(user);
      const read = await shared.send(user, "", bin(1) as never);
      await shared.send(user, "", bin(2) as never);
      await shared.send(user, "", bin(3) as never);
      await shared.send(user, "", bin(4, { priority: 4 }) as never);
      await shared.send(user, "", bin(5, { priority: 5 }) as never);
      await shared.send(user, "", bin(6, { priority: 5, modal: "popup" }) as never);
      await shared.delivered(user, 6);
      const token = shared.site.tokens[user];
      await shared.server.call("POST", `/api/v1/notices/${read}/read?warehouse=W1`, undefined, token);
      for (const scheme of ["light", "dark"] as const) {
        const widget = await shared.open(await shared.context(device), { user, lang, scheme });
        await widget.popup.waitFor();
        await widget.page.keyboard.press("Escape"); // for later
        await widget.popup.waitFor({ state: "detached" });
        await widget.bell.click();
        await widget.notices.nth(5).waitFor();
        await widget.notices
          .getByText(lang === "en" ? "Replenishment notice" : "补货通知")
          .first()
          .waitFor();
        const seen = await measure(widget);
        expect({ scheme, ...seen }).toEqual({
          scheme,
          badgeOnBell: false,
          badgeInBell: true,
          whole: seen.whole,
          unreadMarks: [1, 1, 1, 1, 1, 0],
          looks: 1,
          clipped: [],
          outside: [],
          covered: [],
          buttonsMeet: false,
          figures: "tabular-nums",
        });
        expect(seen.whole).toBeGreaterThanOrEqual(5);
      }
    });
  }
}
