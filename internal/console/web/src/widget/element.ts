import { keepVisible } from "../lib/visible";
import { Inbox, type Settings } from "./inbox";
import { Root } from "./root";
import { acceptLanguage } from "./text";
import type { TokenProvider } from "./tokens";
import css from "./widget.css?inline";

let sheet: CSSStyleSheet | undefined;

/** The style sheet, which all widgets of a page share. It needs no permission of a content security policy. */
function styles(): CSSStyleSheet {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
  }
  return sheet;
}

/** The attributes that are properties of the same name. */
const reflected = ["server", "warehouse", "subscribers", "locale"] as const;

type Reflected = { [name in (typeof reflected)[number]]: string | null };

// A server that renders pages may load the file, too; it has no elements.
const Base = globalThis.HTMLElement ?? (class {} as typeof HTMLElement);

/** The properties that are made of attributes, below. */
export interface TallymanInbox extends Reflected {}

/**
 * <tallyman-inbox>: a bell, the window that it opens, and popups.
 */
export class TallymanInbox extends Base {
  static readonly observedAttributes = [...reflected, "token-provider"];

  private readonly inbox = new Inbox({
    draw: () => this.root?.draw(),
    notice: (notice) => this.tell("tallyman-notice", notice),
    open: (notice) => this.tell("tallyman-open", notice),
    unread: (count) => this.tell("tallyman-unread", count),
  });
  private provider: TokenProvider | null | undefined;
  private root: Root | undefined;
  private due = false;
  /** The settings of the connection as JSON; empty = not connected. */
  private settled = "";
  private uncover: (() => void) | undefined;
  private readonly languages = new MutationObserver(() => this.settle());

  /** Gives the token. It wins over the function that the attribute token-provider names. */
  get tokenProvider(): TokenProvider | null | undefined {
    return this.provider;
  }

  set tokenProvider(provider: TokenProvider | null | undefined) {
    this.provider = provider;
    this.settle();
  }

  /** Opens the window. */
  show(): void {
    this.inbox.show();
  }

  /** Closes the window. */
  hide(): void {
    this.inbox.hide();
  }

  /** Asks for a token and connects again, because a user, or another user, has signed in. */
  reconnect(): void {
    this.settled = "";
    this.settle();
  }

  connectedCallback(): void {
    // The page may have set properties before the element was defined.
    for (const name of [...reflected, "tokenProvider"] as const) {
      const given = Object.getOwnPropertyDescriptor(this, name);
      if (given) {
        delete (this as Partial<Record<typeof name, unknown>>)[name];
        Object.assign(this, { [name]: given.value as unknown });
      }
    }
    const shadow = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    shadow.adoptedStyleSheets = [styles()];
    this.root = new Root(shadow, this.inbox);
    this.uncover ??= keepVisible(shadow);
    this.languages.observe(document, { subtree: true, attributeFilter: ["lang"] });
    this.settle();
  }

  disconnectedCallback(): void {
    this.languages.disconnect();
    this.uncover?.();
    this.uncover = undefined;
    this.inbox.stop();
    this.settled = "";
    this.root?.clear();
    this.root = undefined;
  }

  attributeChangedCallback(): void {
    this.settle();
  }

  /**
   * Connects again if a setting has changed, once for several changes. Frameworks set properties in each render, so
   * another function for the token changes nothing until a token is needed.
   */
  private settle(): void {
    if (this.due) {
      return;
    }
    this.due = true;
    queueMicrotask(() => {
      this.due = false;
      const settings = this.settings();
      const provider = this.provider ? true : this.getAttribute("token-provider");
      const wanted = JSON.stringify([settings.language, settings.place, provider]);
      if (this.isConnected && wanted !== this.settled) {
        this.settled = wanted;
        this.inbox.connect(settings);
      }
    });
  }

  private settings(): Settings {
    const { server, warehouse, subscribers, locale } = this;
    const language = locale || this.closest("[lang]")?.getAttribute("lang") || "en";
    return {
      language,
      provider: () => (this.provider ?? named(this.getAttribute("token-provider")))?.(),
      place: {
        server: new URL(server || "/", document.baseURI).href.replace(/\/+$/, ""),
        warehouse: warehouse ?? "",
        subscribers: [...new Set(subscribers?.split(/\s+/).filter(Boolean))].sort(),
        language: acceptLanguage(language),
      },
    };
  }

  private tell(type: string, detail: unknown): boolean {
    return this.dispatchEvent(
      new CustomEvent(type, { detail, bubbles: true, composed: true, cancelable: type === "tallyman-open" }),
    );
  }
}

for (const name of reflected) {
  Object.defineProperty(TallymanInbox.prototype, name, {
    configurable: true,
    enumerable: true,
    get(this: TallymanInbox) {
      return this.getAttribute(name);
    },
    set(this: TallymanInbox, value: unknown) {
      if (value === null || value === undefined) {
        this.removeAttribute(name);
      } else {
        this.setAttribute(name, String(value));
      }
    },
  });
}

/**
 * Returns the page's function with that name. The function is looked up when a token is needed, so the page may define
 * it later than the element.
 */
function named(name: string | null): TokenProvider | undefined {
  const provider = name ? (window as unknown as Record<string, unknown>)[name] : undefined;
  if (name && typeof provider !== "function") {
    throw new TypeError(`the page has no function ${name}`);
  }
  return provider as TokenProvider | undefined;
}
