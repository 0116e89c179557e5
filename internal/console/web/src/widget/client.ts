import { Refusal } from "./refusal";
import type { Tokens } from "./tokens";
import type { Mark, NoticeType, Page, Place, Summary } from "./types";

/** The answer to a poll: a page, or nothing new (304). */
export interface Polled {
  page?: Page;
  /** The ETag to send with the next poll. */
  tag: string;
}

/** Calls the API for one place. Throws a Refusal, or the error that fetch throws. */
export class Client {
  constructor(
    readonly place: Place,
    readonly tokens: Tokens,
  ) {}

  /** Asks for the page after a cursor, and lets the server wait for something new. */
  async poll(after: string, tag: string, wait: number, signal: AbortSignal): Promise<Polled> {
    const query = this.query({ after, wait: wait ? `${wait}s` : "", limit: after ? "" : "200" });
    const answer = await this.request(`/notices?${query}`, {
      signal,
      headers: tag ? { "If-None-Match": tag } : {},
    });
    const polled = { tag: answer.headers.get("ETag") ?? "" };
    return answer.status === 304
      ? { tag: polled.tag || tag }
      : { ...polled, page: (await answer.json()) as Page };
  }

  /**
   * Asks for the notices that were delivered at or after a moment (ms since 1970), such as notices that are older than
   * the first window.
   */
  async since(moment: number, after: string, signal: AbortSignal): Promise<Page> {
    const query = this.query({ limit: "200", ...(after ? { after } : { since: String(moment) }) });
    return (await this.request(`/notices?${query}`, { signal })).json() as Promise<Page>;
  }

  /** Opens a stream of events that goes on from a cursor. */
  async stream(after: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const headers = { Accept: "text/event-stream", ...(after ? { "Last-Event-ID": after } : {}) };
    const answer = await this.request(`/notices/stream?${this.query()}`, { signal, headers });
    if (!answer.body || !answer.headers.get("Content-Type")?.startsWith("text/event-stream")) {
      throw new Refusal("error", "not a stream of events", answer.status, "no_stream");
    }
    return answer.body;
  }

  async summary(signal: AbortSignal): Promise<Summary> {
    return (await this.request(`/notices/summary?${this.query()}`, { signal })).json() as Promise<Summary>;
  }

  async types(signal: AbortSignal): Promise<NoticeType[]> {
    const answer = await this.request("/types", { signal });
    return ((await answer.json()) as { types: NoticeType[] }).types;
  }

  /** Says that the user has read or acked a notice. */
  async mark(id: string, mark: Mark, signal: AbortSignal): Promise<void> {
    const verb = mark === "acked" ? "ack" : "read";
    await this.request(`/notices/${encodeURIComponent(id)}/${verb}?${this.query()}`, {
      signal,
      method: "POST",
    });
  }

  /** Says that the user has read everything up to a cursor. */
  async readAll(upTo: string, signal: AbortSignal): Promise<void> {
    const { warehouse, subscribers } = this.place;
    const body = JSON.stringify({
      upTo,
      ...(warehouse && { warehouse }),
      ...(subscribers.length > 0 && { subscribers }),
    });
    await this.request("/notices/read-all", {
      signal,
      method: "POST",
      body,
      headers: { "Content-Type": "application/json" },
    });
  }

  private query(more: Record<string, string> = {}): URLSearchParams {
    const query = new URLSearchParams();
    const { warehouse, subscribers } = this.place;
    for (const [name, value] of Object.entries({ warehouse, ...more })) {
      if (value) {
        query.set(name, value);
      }
    }
    for (const subscriber of subscribers) {
      query.append("subscriber", subscriber);
    }
    return query;
  }

  /** Sends a request with the token, and again with a new token if the server refuses the first. */
  private async request(path: string, init: RequestInit): Promise<Response> {
    let answer = await this.send(path, init);
    if (answer.status === 401) {
      this.tokens.forget();
      answer = await this.send(path, init);
    }
    if (answer.ok || answer.status === 304) {
      return answer;
    }
    throw await Refusal.of(answer);
  }

  private async send(path: string, init: RequestInit): Promise<Response> {
    const token = await this.tokens.get();
    return fetch(`${this.place.server}/api/v1${path}`, {
      cache: "no-store",
      ...init,
      headers: {
        Accept: "application/json",
        "Accept-Language": this.place.language,
        ...(token ? { Authorization: `Bearer ${token}` } : {}),
        ...init.headers,
      },
    });
  }
}
