import { appendFile, open, readFile, rename, unlink } from "node:fs/promises";

/** How long a store keeps the id of a handled notice. After a reset the service sends the last three days again, and handled notices are left out. */
export const REMEMBER_MS = 4 * 24 * 3600 * 1000;

/** Keeps the cursor and the handled notices of a follower. FileStore keeps them in a file. A program with a database can keep them there. Only one follower may use a store at a time. */
export interface Store {
  /** Returns the place that was saved last. If nothing was saved, the cursor is empty. */
  load(): Promise<Place>;
  /** Saves a step of the follower. When it resolves, the step must survive a kill of the process. */
  save(step: Step): Promise<void>;
}

/** The position of a follower. */
export interface Place {
  /** Empty: the follower begins with the last three days. */
  cursor: string;
  /** Ids of the notices that were handled within REMEMBER_MS. */
  handled: string[];
}

/**
 * A change of the place: a new cursor, a handled notice, or both. A step follows a handler that has ended without an
 * error, or a page without new notices.
 */
export interface Step {
  /** The cursor, new or unchanged. */
  cursor: string;
  /** Id of the handled notice. */
  handled?: string;
}

interface Line {
  /** Absent: unchanged. */
  cursor?: string;
  handled?: string;
  /** When the notice was handled, in s since 1970. */
  at?: number;
}

const fields = new Set(["cursor", "handled", "at"]);

/** Returns the line, or undefined if the line is not JSON: a full disk or a power failure has cut it off. */
function parse(line: string): Line | undefined {
  try {
    return JSON.parse(line) as Line;
  } catch {
    return undefined;
  }
}

/**
 * Keeps the place in a file of JSON lines. Each step adds a line. A line that was cut off by a kill is ignored. The file is rewritten when it is
 * loaded, and when most of its lines are old.
 */
export class FileStore implements Store {
  private cursor = "";
  private live = new Map<string, number>();
  private lines = 0;

  constructor(private readonly path: string) {}

  /** Reads the file. The first line of a follower's file is its cursor, and is always whole. If the first line is anything else, another program made the file: load throws and does not change the file. */
  async load(): Promise<Place> {
    this.cursor = "";
    this.live.clear();
    this.read(await readFile(this.path, "utf8").catch((error: NodeJS.ErrnoException) => (error.code === "ENOENT" ? "" : Promise.reject(error))));
    await this.rewrite();
    return { cursor: this.cursor, handled: [...this.live.keys()] };
  }

  async save(step: Step): Promise<void> {
    const line: Line = {};
    if (step.cursor !== this.cursor) line.cursor = step.cursor;
    if (step.handled !== undefined) Object.assign(line, { handled: step.handled, at: now() });
    await appendFile(this.path, JSON.stringify(line) + "\n", { mode: 0o600 });
    this.take(line);
    this.lines++;
    if (this.lines > 2 * this.live.size + 10_000) await this.rewrite();
  }

  private read(text: string): void {
    if (text === "") return;
    const [first = "", ...rest] = text.split("\n");
    const start = parse(first);
    if (typeof start?.cursor !== "string" || Object.keys(start).some((name) => !fields.has(name))) {
      throw new Error(`${this.path} is not a file of a follower, and it was not changed; choose another file`);
    }
    this.take(start);
    for (const line of rest.slice(0, -1)) this.take(parse(line) ?? {}); // The last line was cut off, or is empty.
  }

  private take(line: Line): void {
    if (line.cursor !== undefined) this.cursor = line.cursor;
    if (line.handled !== undefined) this.live.set(line.handled, line.at ?? 0);
  }

  /** Replaces the file in one step by a file with only the needed lines. */
  private async rewrite(): Promise<void> {
    const oldest = now() - REMEMBER_MS / 1000;
    const lines: Line[] = [{ cursor: this.cursor }];
    for (const [handled, at] of this.live) {
      if (at < oldest) this.live.delete(handled);
      else lines.push({ handled, at });
    }
    const fresh = `${this.path}.${process.pid}.new`;
    try {
      const file = await open(fresh, "w", 0o600);
      try {
        await file.writeFile(lines.map((line) => JSON.stringify(line) + "\n").join(""));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(fresh, this.path);
    } catch (error) {
      await unlink(fresh).catch(() => {});
      throw error;
    }
    this.lines = lines.length;
  }
}

function now(): number {
  return Math.floor(Date.now() / 1000);
}
