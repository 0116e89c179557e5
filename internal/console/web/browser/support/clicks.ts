import type { Locator, Page } from "playwright-core";

/** How often Tab is pressed in search of an element before a task fails: more often than any page has elements to stop at. */
const mostTabs = 400;

/** Somebody who does a task on a page, by mouse or by keyboard alone. A test writes a task once and does it with both. */
export interface Person {
  /** How many mouse clicks the task has taken so far. */
  readonly clicks: number;
  /** How many keys the task has taken so far. */
  readonly keys: number;
  /** Presses a link, a button or an option. */
  press(target: Locator): Promise<void>;
  /** Chooses an option of a select by its text: two clicks, one that opens the list and one that chooses. */
  choose(target: Locator, option: string): Promise<void>;
  /** Writes a text into a field. */
  write(target: Locator, text: string): Promise<void>;
  /** Points at a place in an element, given as shares of its width and height, and presses there. By keyboard: the keys instead. */
  pressAt(target: Locator, place: { x: number; y: number }, keys: readonly string[]): Promise<void>;
}

/** Somebody with a mouse. */
export class MousePerson implements Person {
  clicks = 0;
  keys = 0;

  async press(target: Locator): Promise<void> {
    await target.click();
    this.clicks++;
  }

  async choose(target: Locator, option: string): Promise<void> {
    await target.selectOption({ label: option });
    this.clicks += 2;
  }

  async write(target: Locator, text: string): Promise<void> {
    await this.press(target);
    await target.fill(text);
    this.keys += text.length;
  }

  async pressAt(target: Locator, place: { x: number; y: number }): Promise<void> {
    await target.scrollIntoViewIfNeeded();
    const box = await target.boundingBox();
    if (!box) throw new Error("the element to point at is not in sight");
    await target.click({ position: { x: box.width * place.x, y: box.height * place.y } });
    this.clicks++;
  }
}

/** Somebody without a mouse. An element that Tab does not reach fails the task. */
export class KeyboardPerson implements Person {
  readonly clicks = 0;
  keys = 0;

  constructor(
    private readonly page: Page,
    private readonly tabs = mostTabs,
  ) {}

  async press(target: Locator): Promise<void> {
    await this.reach(target);
    await this.key("Enter");
  }

  async choose(target: Locator, option: string): Promise<void> {
    await this.reach(target);
    await this.type(option); // a select with the focus goes to the option that begins so
  }

  async write(target: Locator, text: string): Promise<void> {
    await this.reach(target);
    await this.type(text);
  }

  async pressAt(target: Locator, _place: { x: number; y: number }, keys: readonly string[]): Promise<void> {
    await this.reach(target);
    for (const key of keys) await this.key(key);
  }

  /** Presses Tab until the element has the focus. */
  private async reach(target: Locator): Promise<void> {
    await target.waitFor();
    for (let tabs = 0; tabs < this.tabs; tabs++) {
      if (await target.evaluate((element) => element === document.activeElement)) return;
      await this.key("Tab");
    }
    throw new Error(`Tab does not reach ${target.toString()}`);
  }

  private async type(text: string): Promise<void> {
    await this.page.keyboard.type(text);
    this.keys += text.length;
  }

  private async key(key: string): Promise<void> {
    await this.page.keyboard.press(key);
    this.keys++;
  }
}
