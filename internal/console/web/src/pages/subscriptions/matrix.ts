import type { Type } from "../types/form";
import { everywhere, type Subscriber, type Subscription } from "./load";

/**
 * How a subscriber gets a type in a warehouse. here: by a subscription in the warehouse. inherited: by a subscription
 * for all warehouses. both: by both, so that the subscriber still gets the type when the subscription for all is
 * removed.
 */
export type Cell = "none" | "here" | "inherited" | "both";

/** A subscriber: a column of the matrix. */
export interface Who {
  id: string;
  kind: "role" | "user";
  /** The name in the address book, or else the id without the kind. */
  name: string;
}

/** The subscriptions of one warehouse, ready to be read cell by cell. */
export class Matrix {
  readonly #here = new Set<string>();
  readonly #all = new Set<string>();
  readonly #origins = new Map<string, string>();

  constructor(
    readonly warehouse: string,
    subscriptions: readonly Subscription[],
  ) {
    for (const each of subscriptions) {
      if (each.warehouse === warehouse && each.origin)
        this.#origins.set(keyOf(each.type, each.subscriber), each.origin);
      if (each.warehouse === warehouse) this.#here.add(keyOf(each.type, each.subscriber));
      else if (each.warehouse === everywhere) this.#all.add(keyOf(each.type, each.subscriber));
    }
  }

  /** Returns the source of a cell's own subscription; undefined if somebody made the subscription by hand. */
  origin(type: string, subscriber: string): string | undefined {
    return this.#origins.get(keyOf(type, subscriber));
  }

  cell(type: string, subscriber: string): Cell {
    const key = keyOf(type, subscriber);
    const here = this.#here.has(key);
    if (this.#all.has(key)) return here ? "both" : "inherited";
    return here ? "here" : "none";
  }
}

function keyOf(type: string, subscriber: string): string {
  return `${type}\n${subscriber}`;
}

/** Returns the state of a cell after its own subscription was added or removed. */
export function toggled(cell: Cell): Cell {
  return ({ none: "here", here: "none", inherited: "both", both: "inherited" } as const)[cell];
}

/** Returns whether a cell has a subscription of its own, which a toggle removes. */
export function own(cell: Cell): boolean {
  return cell === "here" || cell === "both";
}

const collator = new Intl.Collator(undefined, { numeric: true });

/**
 * Returns all known subscribers by id: everybody with a subscription, and everybody in the address book. Roles come
 * first.
 */
export function everybody(subscriptions: readonly Subscription[], book: readonly Subscriber[]): Who[] {
  const names = new Map(book.map((entry) => [entry.id, entry.name ?? ""]));
  const ids = new Set([...names.keys(), ...subscriptions.map((each) => each.subscriber)]);
  const all = [...ids].map((id): Who => {
    const bare = id.slice(id.indexOf(":") + 1);
    return { id, kind: id.startsWith("role:") ? "role" : "user", name: names.get(id) || bare };
  });
  return all.sort((a, b) => collator.compare(a.kind, b.kind) || collator.compare(a.id, b.id));
}

/** Returns the rows: the types by category and name. */
export function byCategory(types: readonly Type[], nameOf: (type: Type) => string): Type[] {
  return types.toSorted(
    (a, b) => collator.compare(a.category ?? "", b.category ?? "") || collator.compare(nameOf(a), nameOf(b)),
  );
}

/** Returns whether a column matches the search and the kind. */
export function isWho(who: Who, search: string, kind: string): boolean {
  if (kind && who.kind !== kind) return false;
  const wanted = search.trim().toLowerCase();
  return who.id.toLowerCase().includes(wanted) || who.name.toLowerCase().includes(wanted);
}

/** A place in the grid. */
export interface Place {
  row: number;
  column: number;
}

/** Returns the place to which a key leads in a grid of this size; undefined if the key leads nowhere. */
export function moved(
  at: Place,
  key: string,
  ctrl: boolean,
  rows: number,
  columns: number,
): Place | undefined {
  const last = { row: rows - 1, column: columns - 1 };
  const to: Record<string, Place> = {
    ArrowUp: { ...at, row: at.row - 1 },
    ArrowDown: { ...at, row: at.row + 1 },
    ArrowLeft: { ...at, column: at.column - 1 },
    ArrowRight: { ...at, column: at.column + 1 },
    PageUp: { ...at, row: at.row - 10 },
    PageDown: { ...at, row: at.row + 10 },
    Home: { row: ctrl ? 0 : at.row, column: 0 },
    End: { row: ctrl ? last.row : at.row, column: last.column },
  };
  const wanted = to[key];
  return wanted && within(wanted, rows, columns);
}

/** Returns the nearest place in the grid. */
export function within(place: Place, rows: number, columns: number): Place {
  const clamp = (value: number, size: number) => Math.max(0, Math.min(size - 1, value));
  return { row: clamp(place.row, rows), column: clamp(place.column, columns) };
}
