import createClient, { type Middleware } from "openapi-fetch";
import { preferences } from "../lib/preferences.svelte";
import { Failure } from "./failure";
import type { components, paths } from "./schema";
import { session } from "./session.svelte";

/** The forms of the public API, by name. */
export type Schemas = components["schemas"];

const identify: Middleware = {
  onRequest({ request }) {
    if (session.token) request.headers.set("Authorization", `Bearer ${session.token}`);
    request.headers.set("Accept", "application/json");
    request.headers.set("Accept-Language", preferences.locale); // titles of notices come in it
    return request;
  },
  async onResponse({ request, response }) {
    if (response.ok || response.status === 304) return;
    const failure = await Failure.of(response);
    if (failure.kind === "unauthorised")
      session.refused(request.headers.get("Authorization")?.replace("Bearer ", "") ?? "");
    throw failure;
  },
  onError({ error }) {
    if (error instanceof DOMException && error.name === "AbortError") return error;
    return new Failure("offline", 0, "unreachable", String(error));
  },
};

/** Calls the public API with the token of the session. Answers that are no success are thrown as a Failure. */
export const api = createClient<paths>({ baseUrl: globalThis.location?.origin ?? "" });
api.use(identify);

/** The body of an answer. A call that failed has thrown before. */
export async function body<T>(call: Promise<{ data?: T }>): Promise<T> {
  return (await call).data as T;
}
