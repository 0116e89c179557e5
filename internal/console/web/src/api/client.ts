import createClient, { type Middleware } from "openapi-fetch";
import { preferences } from "../lib/preferences.svelte";
import { Failure } from "./failure";
import type { components, paths } from "./schema";
import { session } from "./session.svelte";

/** The schemas of the public API, by name. */
export type Schemas = components["schemas"];

const identify: Middleware = {
  onRequest({ request }) {
    if (session.token) request.headers.set("Authorization", `Bearer ${session.token}`);
    request.headers.set("Accept", "application/json");
    request.headers.set("Accept-Language", preferences.locale); // titles of notices come in this language
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

/** Calls the public API with the token of the session. Throws a Failure for an answer that is not a success. */
export const api = createClient<paths>({ baseUrl: globalThis.location?.origin ?? "" });
api.use(identify);

/** Returns the body of an answer. A failed call has already thrown. */
export async function body<T>(call: Promise<{ data?: T }>): Promise<T> {
  return (await call).data as T;
}
