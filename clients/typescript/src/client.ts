import createClient, { type Client as Api } from "openapi-fetch";
import { ProblemError } from "./problem.js";
import type { paths } from "./schema.js";

export interface ClientOptions {
  /** URL of the service, such as http://127.0.0.1:8080. */
  url: string;
  /**
   * An API token or a JWT. The client calls a function before each request: use a function for JWTs, because they
   * expire. Leave the token out for a service with auth.mode none.
   */
  token?: string | (() => string | Promise<string>);
  fetch?: typeof fetch;
}

/**
 * How long a request may take in addition to its wait at the server, in ms. After this time the connection counts as
 * dead.
 */
const ANSWER_WITHIN_MS = 20_000;

/** How long a request waits at the server for something new, in seconds. */
export const WAIT_S = 25;

/** Calls one Tallyman service. */
export class Client {
  /** All operations. A call is tried once. */
  readonly api: Api<paths>;

  constructor({ url, token, fetch }: ClientOptions) {
    this.api = createClient<paths>({ baseUrl: url, headers: { Accept: "application/json" }, ...(fetch && { fetch }) });
    this.api.use({
      async onRequest({ request }) {
        const value = typeof token === "function" ? await token() : token;
        if (value) request.headers.set("Authorization", `Bearer ${value}`);
        return request;
      },
    });
  }
}

/**
 * Returns a signal that ends with the given signal, or when the time for an answer to a request with this wait is over.
 */
export function within(signal: AbortSignal, waitSeconds: number): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(waitSeconds * 1000 + ANSWER_WITHIN_MS)]);
}

/** Returns the data of an answer. Throws a ProblemError if the answer is not a success. */
export function dataOf<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (!answer.response.ok || answer.data === undefined) {
    throw new ProblemError(answer.response, answer.error);
  }
  return answer.data;
}
