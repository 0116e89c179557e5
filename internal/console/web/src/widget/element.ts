import { keepVisible } from "../lib/visible";
import { Inbox } from "./inbox";
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

/** The attributes, which are properties, too. */
const attributes = ["server", "warehouse", "subscribers", "locale", "token-provider"] as const;

/**
 * <tallyman-inbox>: a bell, the window that it opens, and popups.
 */
export class TallymanInbox extends HTMLElement {
  static readonly observedAttributes = attributes;

  private readonly inbox = new Inbox({
    draw: () => this.root?.draw(),
    notice: (notice) => this.tell("tallyman-notice", notice),
    open: (notice) => this.tell("tallyman-open", notice),
    unread: (count) => this.tell("tallyman-unread", count),
  });
  private provider: TokenProvider | undefined;
  private root: Root | undefined;
  private due = false;
  private settled = "";
  private uncover: (() => void) | undefined;
  private readonly languages = new MutationObserver(() => this.settle());

  /** Gives the token. It wins over the function that the attribute token-provider names. */
  get tokenProvider(): TokenProvider | undefined {
    return this.provider;
  }

  set tokenProvider(provider: TokenProvider | undefined) {
    this.provider = provider;
    this.settled = "";
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

  connectedCallback(): void {
    // The page may have set the property before the element was defined.
    if (Object.hasOwn(this, "tokenProvider")) {
      const given = Object.getOwnPropertyDescriptor(this, "tokenProvider")?.value as
        TokenProvider | undefined;
      delete (this as { tokenProvider?: unknown }).tokenProvider;
      this.provider = given;
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

  /** Connects anew if a setting has changed; once, however many have. */
  private settle(): void {
    if (this.due) {
      return;
    }
    this.due = true;
    queueMicrotask(() => {
      this.due = false;
      const language = this.getAttribute("locale") || this.closest("[lang]")?.getAttribute("lang") || "en";
      const settings = JSON.stringify([language, ...attributes.map((name) => this.getAttribute(name))]);
      if (this.isConnected && settings !== this.settled) {
        this.settled = settings;
        this.connect(language);
      }
    });
  }

  private connect(language: string): void {
    const read = (name: (typeof attributes)[number]) => this.getAttribute(name) ?? "";
    this.inbox.connect({
      language,
      provider: this.provider ?? named(read("token-provider")),
      place: {
        server: new URL(read("server") || "/", document.baseURI).href.replace(/\/+$/, ""),
        warehouse: read("warehouse"),
        subscribers: read("subscribers").split(/\s+/).filter(Boolean),
        language: acceptLanguage(language),
      },
    });
  }

  private tell(type: string, detail: unknown): boolean {
    return this.dispatchEvent(
      new CustomEvent(type, { detail, bubbles: true, composed: true, cancelable: type === "tallyman-open" }),
    );
  }
}

/** The function of the page of that name. It is looked up when a token is needed, so it may be defined later than the element. */
function named(name: string): TokenProvider | undefined {
  if (!name) {
    return undefined;
  }
  return () => {
    const provider = (window as unknown as Record<string, unknown>)[name];
    if (typeof provider !== "function") {
      throw new TypeError(`the page has no function ${name}`);
    }
    return (provider as TokenProvider)();
  };
}
