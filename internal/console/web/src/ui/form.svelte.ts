import { Failure } from "../api/failure";

/**
 * A form that is sent to the API: whether the request is on its way, and which errors the server has returned for which
 * field.
 */
export class Form {
  busy = $state(false);
  failure = $state.raw<Failure>();

  /** Sends the form. Returns false if the form was refused; `failure` then has the reason. */
  async send(run: () => Promise<unknown>): Promise<boolean> {
    this.busy = true;
    try {
      await run();
      this.failure = undefined;
      return true;
    } catch (thrown) {
      this.failure = Failure.from(thrown);
      return false;
    } finally {
      this.busy = false;
    }
  }

  /** Forgets the errors, because the form is opened anew. */
  clear(): void {
    this.failure = undefined;
  }

  /**
   * Returns the errors of the fields and of everything below them: an error of "body.fields.bin" belongs to
   * "body.fields".
   */
  at(...locations: string[]): string | undefined {
    const texts = (this.failure?.faults ?? [])
      .filter((fault) => locations.some((location) => within(fault.location, location)))
      .map((fault) => fault.message);
    return texts.length > 0 ? [...new Set(texts)].join(" · ") : undefined;
  }

  /** Returns the errors of no field of these, for the foot of the form. */
  elsewhere(...locations: string[]): string | undefined {
    if (!this.failure) return undefined;
    const { faults, message } = this.failure;
    if (faults.length === 0) return message;
    const rest = faults.filter((fault) => !locations.some((location) => within(fault.location, location)));
    if (rest.length === 0) return undefined;
    return rest.map((fault) => [fault.location, fault.message].filter(Boolean).join(": ")).join(" · ");
  }
}

function within(location: string | undefined, whole: string): boolean {
  if (!location?.startsWith(whole)) return false;
  return location.length === whole.length || [".", "["].includes(location.charAt(whole.length));
}
