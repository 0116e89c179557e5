import { Backoff, pause } from "../lib/backoff";
import type { Leader } from "./leader";
import { Refusal } from "./refusal";
import type { Batch, Change, Status } from "./types";

/** The status, and when the server was last heard. */
export interface Health {
  status: Status;
  heardAt: number;
  detail: string;
}

/** The messages between tabs. */
export type Message =
  /** The leader has a state with this cursor. A tab with another cursor asks for the state. */
  | { kind: "hello"; leader: string; cursor: string; health: Health }
  /** Asks the leader for the whole state. */
  | { kind: "ask" }
  /**
   * The number of news counts up, so that a tab that was frozen notices what it missed. whole: the batch is the whole
   * state.
   */
  | { kind: "news"; leader: string; number: number; whole: boolean; batch?: Batch; health: Health }
  /** The user has done this in one of the tabs. */
  | { kind: "marked"; changes: Change[] }
  | { kind: "later"; id: string; until: number }
  /** The user of one of the tabs does not want to wait any longer. */
  | { kind: "retry" };

/** The part of a BroadcastChannel that is needed. */
export interface Channel {
  postMessage(message: Message): void;
  onmessage: ((event: { data: Message }) => void) | null;
  close(): void;
}

/** The state that tabs keep in step. */
export interface ShareHost {
  cursor(): string;
  loaded(): boolean;
  snapshot(): Batch;
  apply(batch: Batch): void;
  health(health: Health): void;
  marked(changes: readonly Change[]): void;
  later(id: string, until: number): void;
  visible(): boolean;
  /** Ends a wait of the work, so that the work goes on at once. */
  wake(): void;
  /** Works as the one tab that speaks with the server. */
  work(signal: AbortSignal): Promise<void>;
}

/**
 * How often the leader reports to the other tabs, and after which silence a visible tab takes over, in ms. Timers of
 * tabs in the background run once a minute.
 */
const beat = 20_000;
const leaderSilence = 150_000;

/** Keeps the tabs of one user in step. One tab leads: it has the stream, and tells the others. */
export class Share {
  private readonly self = crypto.getRandomValues(new Uint32Array(2)).join("-");
  private readonly backoff = new Backoff(5000, 60_000);
  private current: Health = { status: "connecting", heardAt: 0, detail: "" };
  private number = 0;
  private leader = "";
  private heardLeader = Date.now();
  private rest = new AbortController();

  constructor(
    private readonly host: ShareHost,
    private readonly election: Leader,
    private readonly channel: Channel | undefined,
  ) {}

  /** Takes part until the signal ends it. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.channel) {
      this.channel.onmessage = ({ data }) => this.hear(data);
      this.send({ kind: "ask" });
    }
    const pulse = setInterval(() => this.pulse(), beat);
    try {
      while (!signal.aborted) {
        await this.term(signal);
      }
    } finally {
      clearInterval(pulse);
      this.channel?.close();
    }
  }

  /** The leader's feed has something for all tabs. */
  take(batch: Batch): void {
    const wasLoaded = this.host.loaded();
    this.host.apply(batch);
    if (!this.host.loaded()) {
      return; // tabs that wait are told when the window is whole
    }
    if (wasLoaded) {
      this.news({ batch, whole: false });
    } else {
      this.hello();
    }
  }

  /** Reports the status of the leader's feed. */
  report(status: Status, heard: boolean, detail = ""): void {
    const heardAt = heard ? Date.now() : this.current.heardAt;
    this.setHealth({ status, heardAt, detail });
    this.news({ whole: false });
  }

  /** Tries again at once, whichever tab waits. */
  retry(): void {
    this.rest.abort();
    this.host.wake();
    this.send({ kind: "retry" });
  }

  /** Tells the other tabs what the user did in this one. */
  send(message: Message): void {
    this.channel?.postMessage(message);
  }

  private async term(signal: AbortSignal): Promise<void> {
    try {
      await this.election.lead(signal, async (term) => {
        this.leader = this.self;
        if (this.host.loaded()) {
          this.hello();
        }
        await this.host.work(term);
      });
      this.heardLeader = Date.now(); // the tab that has taken over has time to say so
    } catch (thrown) {
      // The server refuses this tab. Another tab may have a better token.
      const refusal = Refusal.from(thrown, true);
      this.setHealth({ ...this.current, status: refusal.trouble, detail: refusal.message });
      this.rest = new AbortController();
      const end = () => this.rest.abort();
      signal.addEventListener("abort", end);
      await pause(this.backoff.next(refusal.retryAfter), this.rest.signal);
      signal.removeEventListener("abort", end);
    }
  }

  private pulse(): void {
    if (this.election.leads) {
      this.news({ whole: false });
    } else if (this.host.visible() && Date.now() - this.heardLeader > leaderSilence) {
      this.heardLeader = Date.now();
      this.election.takeOver();
    }
  }

  private hear(message: Message): void {
    switch (message.kind) {
      case "ask":
        if (this.election.leads && !this.election.alone && this.host.loaded()) {
          this.news({ batch: this.host.snapshot(), whole: true });
        }
        break;
      case "marked":
        this.host.marked(message.changes);
        break;
      case "retry":
        this.host.wake();
        break;
      case "later":
        this.host.later(message.id, message.until);
        break;
      default:
        if (!this.election.leads) {
          this.follow(message);
        }
    }
  }

  private follow(message: Extract<Message, { kind: "hello" | "news" }>): void {
    this.heardLeader = Date.now();
    if (message.kind === "hello") {
      if (message.cursor !== this.host.cursor()) {
        this.leader = "";
        this.send({ kind: "ask" });
        return;
      }
      this.leader = message.leader;
      this.number = 0;
    } else if (message.whole) {
      if (message.leader === this.leader && message.number === this.number) {
        return; // another tab has asked for the state
      }
      this.leader = message.leader;
      this.number = message.number;
    } else if (message.leader !== this.leader || message.number !== this.number + 1) {
      if (this.leader) {
        this.leader = ""; // so that this tab asks once
        this.send({ kind: "ask" });
      }
      this.setHealth(message.health);
      return;
    } else {
      this.number++;
    }
    if (message.kind === "news" && message.batch) {
      this.host.apply(message.batch);
    }
    this.setHealth(message.health);
  }

  private hello(): void {
    if (this.election.alone) {
      return;
    }
    this.number = 0;
    this.send({ kind: "hello", leader: this.self, cursor: this.host.cursor(), health: this.current });
  }

  private news(more: { batch?: Batch; whole: boolean }): void {
    if (this.election.leads && !this.election.alone) {
      // Tabs that already follow know this state, so a whole state takes no number of its own.
      this.number += more.whole ? 0 : 1;
      this.send({ kind: "news", leader: this.self, number: this.number, health: this.current, ...more });
    }
  }

  private setHealth(health: Health): void {
    this.current = health;
    this.host.health(health);
  }
}
