/** Gives a token of the API: one of Tallyman's own or a JWT. */
export type TokenProvider = () => string | null | undefined | Promise<string | null | undefined>;

/** A notice, as the API has it. */
export interface Notice {
  id: string;
  /** The code in the type catalogue. */
  type: string;
  typeId: number;
  warehouse: string;
  /** Empty when a business system sent the notice. */
  rule: string;
  scope: string;
  key: string;
  episode: string;
  status: "firing" | "resolved" | "event" | "sent";
  /** 5 is the highest. */
  priority: number;
  modal: "silent" | "popup";
  title: string;
  body: string;
  /** The typed fields; decimals and times are strings. */
  data: { [key: string]: unknown };
  labels: { [key: string]: string };
  order?: string;
  /** The number of findings that the notice stands for. */
  count: number;
  createdAt: string;
  /** createdAt in ms since 1970. */
  createTime: number;
  /** Seconds of life. */
  expireTime: number;
  expiresAt: string;
  read: boolean;
  acked: boolean;
}

/** The counts on the bell. */
export interface Count {
  unread: number;
  /** There are more than `unread`. */
  more: boolean;
  /** Unread notices of priority 4 and 5 whose finding is not over. */
  urgent: number;
}

/** The events of the element. They bubble. */
export interface InboxEventMap {
  /** A notice has come while the page was open. */
  "tallyman-notice": CustomEvent<Notice>;
  /** The user has chosen a notice; after preventDefault() the widget does not unfold the notice. */
  "tallyman-open": CustomEvent<Notice>;
  /** The count has changed. */
  "tallyman-unread": CustomEvent<Count>;
}

/** The properties of the element that are attributes, too. */
export interface InboxAttributes {
  /** The server's address; default the page's own origin. */
  server: string | null;
  /** The warehouse of the notices; may be left out if the token has one warehouse. */
  warehouse: string | null;
  /** The subscribers whose inboxes are shown, separated by spaces; default the subscribers of the token. */
  subscribers: string | null;
  /** The language; default the nearest `lang` of the page. */
  locale: string | null;
}

/** What a framework sets on the element. */
export interface InboxProps extends Partial<InboxAttributes> {
  /**
   * Gives the token. Wins over `token-provider`. If the function changes, the new one is asked when the next token is
   * needed.
   */
  tokenProvider?: TokenProvider | null | undefined;
  /** The name of a function of `window` that gives the token. */
  "token-provider"?: string | undefined;
}

/** `<tallyman-inbox>`. */
export interface TallymanInbox extends HTMLElement, InboxAttributes {
  /** Gives the token. Wins over the function that the attribute `token-provider` names. */
  tokenProvider: TokenProvider | null | undefined;
  /** Opens the window. */
  show(): void;
  /** Closes the window. */
  hide(): void;
  /** Asks for a token and connects again, because a user, or another user, has signed in. */
  reconnect(): void;
}

export const TallymanInbox: {
  prototype: TallymanInbox;
  new (): TallymanInbox;
};

declare global {
  interface HTMLElementTagNameMap {
    "tallyman-inbox": TallymanInbox;
  }

  interface GlobalEventHandlersEventMap extends InboxEventMap {}
}
