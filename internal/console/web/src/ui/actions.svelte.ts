import { Failure } from "../api/failure";

/** A message at the foot of the page. */
export interface Toast {
  id: number;
  tone: "good" | "bad";
  text: string;
  /** Takes the action back. */
  undo?: () => Promise<unknown>;
}

/** A question that stands before an action. */
export interface Question {
  title: string;
  /** What the action does, in a sentence. */
  text: string;
  /** The text of the button: the action's verb. */
  action: string;
  danger?: boolean;
  /** Whether a reason may be given, or must. */
  reason?: "optional" | "required";
  /**
   * The choices of how long the change holds, as durations of the API. The empty choice has no end; `ownEnd` asks for a
   * time.
   */
  until?: readonly { value: string; label: string }[];
  /** The choice that is selected at first; by default the first one. */
  untilAtFirst?: string;
}

/** The choice of the user's own time. The answer is that time in RFC 3339. */
export const ownEnd = "own";

/** The answer to a question. */
export interface Answer {
  reason: string;
  until: string;
  /** The second question was answered too: the action goes ahead in spite of the server's refusal. */
  force?: boolean;
}

export interface Action<T> {
  /** The question before an action that is dangerous or has no undo. */
  ask?: Question;
  run: (answer: Answer) => Promise<T>;
  /** The second question, after a refusal that a person may overrule; nothing for another refusal. */
  overrule?: (refusal: Failure) => Question | undefined;
  /** What has happened, for the toast. */
  done: string | ((result: T) => string);
  /** Undoes the action. The question of an action without undo says that there is no undo. */
  undo?: (result: T) => Promise<unknown>;
  /** Loads again what the action has changed. */
  after?: () => unknown;
}

/**
 * How long a toast stays, in ms. A toast with an undo, or of a failure, stays until the user dismisses it or newer
 * toasts push it out.
 */
const lifetime = 5_000;
const most = 4;
/** The result of an action that the user declined at the second question. */
const declined = Symbol("declined");

class Actions {
  toasts = $state<Toast[]>([]);
  question = $state.raw<(Question & { undo: boolean; answer: (answer?: Answer) => void }) | undefined>();
  #ids = 0;

  /**
   * Runs an action: asks the question, runs it, shows the result and offers the undo. Returns false if the action was
   * not done.
   */
  async run<T>(action: Action<T>): Promise<boolean> {
    let answer: Answer | undefined = { reason: "", until: "" };
    if (action.ask) answer = await this.#ask(action.ask, action.undo !== undefined);
    if (!answer) return false;
    try {
      const result = await this.#attempt(action, answer);
      if (result === declined) return false;
      const text = typeof action.done === "string" ? action.done : action.done(result);
      const { undo } = action;
      this.say("good", text, undo && (() => undo(result)), action.after);
      return true;
    } catch (thrown) {
      this.fail(thrown);
      return false;
    } finally {
      action.after?.();
    }
  }

  say(tone: Toast["tone"], text: string, undo?: () => Promise<unknown>, after?: () => unknown): void {
    const toast: Toast = { id: ++this.#ids, tone, text };
    if (undo) toast.undo = () => this.#undo(toast.id, undo, after);
    this.toasts = [...this.toasts, toast].slice(-most);
    if (tone === "good" && !undo) setTimeout(() => this.dismiss(toast.id), lifetime);
  }

  fail(thrown: unknown): void {
    const failure = Failure.from(thrown);
    const faults = failure.faults
      .map((fault) => fault.message)
      .filter((text) => !failure.message.includes(text));
    this.say("bad", [failure.message, ...faults].join(" · "));
  }

  dismiss(id: number): void {
    this.toasts = this.toasts.filter((toast) => toast.id !== id);
  }

  /** Removes the question and all toasts, because they were for a user who has left. */
  clear(): void {
    this.question?.answer();
    this.toasts = [];
  }

  async #undo(id: number, undo: () => Promise<unknown>, after?: () => unknown): Promise<void> {
    this.dismiss(id);
    try {
      await undo();
    } catch (thrown) {
      this.fail(thrown);
    }
    after?.();
  }

  /** Runs the action, and once more with force if the user overrules the refusal. */
  async #attempt<T>(action: Action<T>, answer: Answer): Promise<T | typeof declined> {
    try {
      return await action.run(answer);
    } catch (thrown) {
      const question = action.overrule?.(Failure.from(thrown));
      if (!question) throw thrown;
      return (await this.#ask(question, false)) ? action.run({ ...answer, force: true }) : declined;
    }
  }

  #ask(question: Question, undo: boolean): Promise<Answer | undefined> {
    this.question?.answer();
    return new Promise((resolve) => {
      const answer = (given?: Answer) => {
        this.question = undefined;
        resolve(given);
      };
      this.question = { ...question, undo, answer };
    });
  }
}

export const actions = new Actions();
