import type { Entry } from "./store";

/** A card of the list: a notice, or a resolution with the notices that it resolves. */
export interface Card {
  /** The latest notice, whose id is the card's. */
  entry: Entry;
  /** The notices that the entry resolves, the latest first. */
  resolves: Entry[];
}

/**
 * Returns the cards of these notices, the latest first as the notices are. A resolution keeps its place, and the
 * notices that it resolves go to its card.
 */
export function cardsOf(entries: readonly Entry[]): Card[] {
  const resolutions = new Map<string, Card>();
  const cards: Card[] = [];
  for (const entry of entries) {
    const resolution = resolutions.get(entry.life);
    if (resolution) {
      resolution.resolves.push(entry);
      continue;
    }
    const card = { entry, resolves: [] };
    cards.push(card);
    if (entry.life && entry.notice.status === "resolved") {
      resolutions.set(entry.life, card);
    }
  }
  return cards;
}

/** All notices of a card. */
export function noticesOf({ entry, resolves }: Card): Entry[] {
  return [entry, ...resolves];
}
