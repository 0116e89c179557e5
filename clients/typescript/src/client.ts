import createClient, { type Client as Api } from "openapi-fetch";
import { ProblemError } from "./problem.js";
import type { paths } from "./schema.js";

export interface ClientOptions {
  /** Where the service is, such as http://127.0.0.1:8080. */
  url: string;
  /** An API token or a JWT. A function is asked before each request: JWTs expire. Without it, the service has auth.mode none. */
  token?: string | (() => string | Promise<string>);
  fetch?: typeof fetch;
}

/** How long a request may take beyond the time that it asks the server to wait. Then the connection counts as dead. */
const ANSWER_WITHIN_MS = 20_000;

/** How long a request asks the server to wait for something new, in seconds. */
export const WAIT_S = 25;

/** Speaks with one Tallyman service. */
export class Client {
  /** Every operation, tried once. */
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

/** A signal that ends with the other one, or when a request that waits so long at the server must have been answered. */
export function within(signal: AbortSignal, waitSeconds: number): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(waitSeconds * 1000 + ANSWER_WITHIN_MS)]);
}

/** The data of an answer. What is no success is thrown. */
export function dataOf<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (!answer.response.ok || answer.data === undefined) {
    throw new ProblemError(answer.response, answer.error);
  }
  return answer.data;
}
