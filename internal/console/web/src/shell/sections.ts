import type { Operation } from "../api/session.svelte";
import type { IconName } from "../ui/Icon.svelte";

/** A page of the navigation. */
export interface Section {
  id:
    | "overview"
    | "rules"
    | "notices"
    | "queues"
    | "deliveries"
    | "subscriptions"
    | "types"
    | "silences"
    | "tokens"
    | "audit";
  href: string;
  icon: IconName;
  /** A user who may not call this operation does not see the page. */
  needs: Operation;
  /** The keys g and then this key open the page. */
  key: string;
}

export const sections: readonly Section[] = [
  { id: "overview", href: "/", icon: "overview", needs: "overview", key: "o" },
  { id: "rules", href: "/rules", icon: "rules", needs: "list-rules", key: "r" },
  { id: "notices", href: "/notices", icon: "notices", needs: "search-notices", key: "n" },
  { id: "queues", href: "/queues", icon: "queues", needs: "list-queues", key: "q" },
  { id: "deliveries", href: "/deliveries", icon: "deliveries", needs: "list-deliveries", key: "d" },
  {
    id: "subscriptions",
    href: "/subscriptions",
    icon: "subscriptions",
    needs: "list-subscriptions",
    key: "s",
  },
  { id: "types", href: "/types", icon: "types", needs: "list-types", key: "t" },
  { id: "silences", href: "/silences", icon: "silences", needs: "list-silences", key: "m" },
  { id: "tokens", href: "/tokens", icon: "tokens", needs: "list-tokens", key: "k" },
  { id: "audit", href: "/audit", icon: "audit", needs: "list-audit", key: "a" },
];
