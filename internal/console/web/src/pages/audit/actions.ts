/** The actions that the filter offers, in groups. A prefix of a group stands for all actions that begin with it. */
export const groups = [
  {
    title: "groupRules",
    prefixes: ["rule", "rules", "scopes"],
    actions: [
      "rule.enable",
      "rule.disable",
      "rule.clear",
      "rule.run",
      "rule.promote",
      "rule.rewind",
      "rule.demote",
      "rule.preview",
      "rule.draft",
      "rules.pause",
      "rules.resume",
      "rules.reload",
      "scopes.sync",
      "scopes.confirm",
      "scopes.forget",
    ],
  },
  { title: "groupSilences", prefixes: ["silence"], actions: ["silence.add", "silence.expire"] },
  {
    title: "groupQueues",
    prefixes: ["queue", "item"],
    actions: [
      "queue.pause",
      "queue.resume",
      "queue.settings",
      "queue.remove",
      "queue.requeue",
      "queue.step",
      "item.remove",
      "item.finish",
      "item.assign",
      "item.requeue",
    ],
  },
  { title: "groupDeliveries", prefixes: ["delivery"], actions: ["delivery.retry", "delivery.cancel"] },
  {
    title: "groupCatalogue",
    prefixes: ["type", "subscription", "subscriber"],
    actions: [
      "type.create",
      "type.put",
      "type.delete",
      "type.seed",
      "subscription.add",
      "subscription.remove",
      "subscription.import",
      "subscription.seed",
      "subscription.sync",
      "subscription.confirm",
      "subscription.release",
      "subscriber.put",
      "subscriber.delete",
    ],
  },
  {
    title: "groupLedger",
    prefixes: ["ledger", "clock"],
    actions: ["ledger.restored", "clock.term", "clock.withhold", "clock.confirm"],
  },
  { title: "groupNodes", prefixes: ["node", "log"], actions: ["node.drain", "log.level"] },
  { title: "groupTokens", prefixes: ["token"], actions: ["token.create", "token.revoke"] },
] as const;

/** Returns the page of the console for the object of a record; undefined if the object has no page. */
export function pageOf(object: string): string | undefined {
  const [kind = "", name = "", ...rest] = object.split(":");
  const part = encodeURIComponent;
  switch (kind) {
    case "rule":
      return `/rules/${part(name)}`;
    case "rules":
      return "/rules";
    case "queue":
      return `/queues/${part(name)}`;
    case "item":
      return `/queues/${part(name)}/items/${part(rest.join(":"))}`;
    case "silence":
      return `/silences?state=all&id=${part(name)}`;
    case "delivery":
      return `/deliveries?delivery=${part(name)}`;
    case "deliveries":
      return "/deliveries";
    case "type":
    case "types":
      return "/types";
    case "subscription":
    case "subscriptions":
    case "subscriber":
      return "/subscriptions";
    case "token":
      return "/tokens";
  }
  return undefined;
}
