import type { Locks } from "./leader";
import type { Channel, Message } from "./share";

interface Request {
  hold: () => Promise<void>;
  resolve: () => void;
  reject: (reason: unknown) => void;
}

/** Locks as a browser has them, for one name. */
export class FakeLocks implements Locks {
  private holder: Request | undefined;
  private queue: Request[] = [];

  get held(): number {
    return (this.holder ? 1 : 0) + this.queue.length;
  }

  request(
    _name: string,
    { signal, steal }: { signal?: AbortSignal; steal?: boolean },
    hold: () => Promise<void>,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const request = { hold, resolve, reject };
      if (steal) {
        this.holder?.reject(new DOMException("stolen", "AbortError"));
        this.holder = undefined;
        this.queue.unshift(request);
      } else {
        this.queue.push(request);
        signal?.addEventListener("abort", () => {
          if (this.queue.includes(request)) {
            this.queue = this.queue.filter((each) => each !== request);
            reject(new DOMException("given up", "AbortError"));
          }
        });
      }
      this.grant();
    });
  }

  /** Lets all pending promises go on. */
  async settled(): Promise<void> {
    for (let i = 0; i < 20; i++) {
      await Promise.resolve();
    }
  }

  private grant(): void {
    if (this.holder) {
      return;
    }
    const request = this.queue.shift();
    if (!request) {
      return;
    }
    this.holder = request;
    void request
      .hold()
      .then(request.resolve, request.reject)
      .finally(() => {
        if (this.holder === request) {
          this.holder = undefined;
          this.grant();
        }
      });
  }
}

/** Channels that hear each other, like the channels of a browser's tabs. */
export class FakeChannels {
  private open: FakeChannel[] = [];

  join(): FakeChannel {
    const channel = new FakeChannel(
      (message) => {
        for (const other of this.open) {
          if (other !== channel && !other.frozen) {
            other.onmessage?.({ data: structuredClone(message) });
          }
        }
      },
      () => (this.open = this.open.filter((each) => each !== channel)),
    );
    this.open.push(channel);
    return channel;
  }

  get size(): number {
    return this.open.length;
  }
}

/** One end of such a channel. */
export class FakeChannel implements Channel {
  onmessage: ((event: { data: Message }) => void) | null = null;
  /** Loses the messages that are sent to it. */
  frozen = false;

  constructor(
    readonly postMessage: (message: Message) => void,
    readonly close: () => void,
  ) {}
}
