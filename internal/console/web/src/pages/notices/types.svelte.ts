import { api, body, type Schemas } from "../../api/client";
import { preferences } from "../../lib/preferences.svelte";

/** The type catalogue, for the names of types in the reader's language. The catalogue is loaded once. */
class Types {
  all = $state.raw<readonly Schemas["Type"][]>([]);
  #asked = false;

  load(): void {
    if (this.#asked) return;
    this.#asked = true;
    body(api.GET("/api/v1/types")).then(
      ({ types }) => (this.all = types),
      () => (this.#asked = false), // codes are shown until a load succeeds
    );
  }

  /** Returns the name of a type in the reader's language, or its code if the catalogue no longer has the type. */
  name(code: string): string {
    const type = this.all.find((each) => each.code === code);
    return type ? (type.names?.[preferences.locale] ?? type.name) : code;
  }
}

export const types = new Types();
