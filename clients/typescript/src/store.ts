import { appendFile, open, readFile, rename, unlink } from "node:fs/promises";

/** How long a store keeps the id of a notice that was handled. After a reset the service sends the last three days again, and what was handled is left out. */
export const REMEMBER_MS = 4 * 24 * 3600 * 1000;

/** Keeps the place of a follower. FileStore keeps it in a file; a program that has a database may keep it there. One follower uses a store at a time. */
export interface Store {
  /** The place that was saved last. Where nothing was saved the cursor is empty. */
  load(): Promise<Place>;
  /** Keeps a step of the follower. When it is done, the step must survive a kill of the process. */
  save(step: Step): Promise<void>;
}

/** Where a follower is. */
export interface Place {
  /** Empty: it begins with the last three days. */
  cursor: string;
  /** The notices that were handled within REMEMBER_MS. */
  handled: string[];
}

/** How a follower goes on: to a cursor, or past one notice, or both. It follows a handler that has ended without an error. */
export interface Step {
  /** From now on. */
  cursor: string;
  /** The id of a notice that was handled. */
  handled?: string;
}

interface Line {
  /** Absent: as before. */
  cursor?: string;
  handled?: string;
  /** When it was handled, in s since 1970. */
  at?: number;
}

/**
 * Keeps the place in a file of JSON lines, to which each step adds one. A line that a kill cut off counts for nothing. The file is written anew when it is loaded,
 * and when most of it is old.
 */
export class FileStore implements Store {
  private cursor = "";
  private live = new Map<string, number>();
  private lines = 0;

  constructor(private readonly path: string) {}

  /** Reads the file. A file that somebody else has made is an error, and stays as it is. */
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
    const lines = text.split("\n").slice(0, -1); // what has no end of line was cut off
    lines.forEach((line, index) => {
      try {
        this.take(JSON.parse(line) as Line);
      } catch {
        if (index === 0) throw new Error(`${this.path} is no file of a follower; name another one`);
        // A full disk or a power failure has cut it off.
      }
    });
  }

  private take(line: Line): void {
    if (line.cursor !== undefined) this.cursor = line.cursor;
    if (line.handled !== undefined) this.live.set(line.handled, line.at ?? 0);
  }

  /** Puts a file with what is still needed in the place of the old one, in one step. */
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
