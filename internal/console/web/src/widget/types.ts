import type { components } from "../api/schema";

type Schemas = components["schemas"];

/** A notice, as the API answers it. */
export type Notice = Schemas["Notice"];
/** A page of a poll. */
export type Page = Schemas["Notices"];
/** What became of a notice. */
export type Change = Schemas["NoticeChange"];
/** read, or acked, which is read, too. */
export type Mark = Change["kind"];
/** A type of the catalogue. */
export type NoticeType = Schemas["Type"];
/** What is shown before all pages are there. */
export type Summary = Schemas["Summary"];

/**
 * What has happened, in the order in which it is applied: everything is dropped, notices have come, some have changed, the
 * count is now this. A page of a poll and the events of a stream are batches, and tabs send each other batches.
 */
export interface Batch {
  reset?: boolean;
  notices?: Notice[];
  /** Notices that were delivered before all that are here. */
  older?: Notice[];
  /** There are more popups than those that were told. */
  popupsMore?: boolean;
  changes?: Change[];
  count?: { unread: number; unreadMore: boolean };
  /** Where to go on from. */
  cursor?: string;
  /** The first window is complete. */
  loaded?: boolean;
}

/** Why nothing comes. Each has a text of its own. */
export type Trouble = "offline" | "blocked" | "unauthorised" | "forbidden" | "error";

/** How it goes: nothing is known yet, a stream is open, it is polled, or something is wrong. */
export type Status = "connecting" | "live" | "polling" | Trouble;

/** Whose notices are wanted, and in which language. */
export interface Place {
  /** The server's address, without a slash at the end. */
  server: string;
  /** Empty: the one of the token. */
  warehouse: string;
  /** None: those of the token. */
  subscribers: readonly string[];
  /** An Accept-Language header. */
  language: string;
}
