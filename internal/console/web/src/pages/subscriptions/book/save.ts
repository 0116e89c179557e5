import { api } from "../../../api/client";
import type { Subscriber } from "../load";

/** Adds or replaces an entry of the address book. */
export async function save({ id, ...fields }: Subscriber): Promise<void> {
  await api.PUT("/api/v1/subscribers/{id}", { params: { path: { id } }, body: fields });
}
