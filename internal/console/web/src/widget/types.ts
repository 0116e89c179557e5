import type { components } from "../api/schema";

type Schemas = components["schemas"];

/** A notice, as the API answers it. */
export type Notice = Schemas["Notice"];
/** A page of a poll. */
export type Page = Schemas["Notices"];
/** A change of a notice: it was read or acked. */
export type Change = Schemas["NoticeChange"];
/** read or acked; acked includes read. */
export type Mark = Change["kind"];
/** A type of the catalogue. */
export type NoticeType = Schemas["Type"];
/** What is shown before all pages are there. */
export type Summary = Schemas["Summary"];

/**
 * What has happened, in the order in which it is applied: a reset drops everything, new notices come, earlier notices
 * change, and the count is set. A page of a poll and the events of a stream are batches, and tabs send each other
 * batches.
 */
export interface Batch {
  reset?: boolean;
  notices?: Notice[];
  /** Notices that were delivered before all that are here. */
  older?: Notice[];
  /** The server has more popups than it has sent. */
  popupsMore?: boolean;
  changes?: Change[];
  count?: { unread: number; unreadMore: boolean };
  /** The cursor to go on from. */
  cursor?: string;
  /** The first window is complete. */
  loaded?: boolean;
}

/** Why no notices come. Each trouble has its own text. */
export type Trouble = "offline" | "blocked" | "unauthorised" | "forbidden" | "error";

/** The status: nothing is known yet, a stream is open, the widget polls, or something is wrong. */
export type Status = "connecting" | "live" | "polling" | Trouble;

/** The notices that are wanted: from which server, of which warehouse and subscribers, and in which language. */
export interface Place {
  /** The server's address, without a slash at the end. */
  server: string;
  /** Empty: the warehouse of the token. */
  warehouse: string;
  /** Empty: the subscribers of the token. */
  subscribers: readonly string[];
  /** An Accept-Language header. */
  language: string;
}
