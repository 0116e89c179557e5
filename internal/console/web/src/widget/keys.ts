/** What a key means in the window. */
export type Action = "next" | "previous" | "first" | "last" | "choose" | "read" | "close";

const actions: Readonly<Record<string, Action>> = {
  j: "next",
  ArrowDown: "next",
  PageDown: "next",
  k: "previous",
  ArrowUp: "previous",
  PageUp: "previous",
  Home: "first",
  End: "last",
  Enter: "choose",
  e: "read",
  Escape: "close",
};

/**
 * Returns what a key means in the window. Undefined if the key means nothing where it was pressed: fields and buttons
 * have keys of their own.
 */
export function keyAction(
  event: Pick<KeyboardEvent, "key" | "target" | "ctrlKey" | "metaKey" | "altKey" | "isComposing">,
): Action | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) {
    return undefined;
  }
  const action = actions[event.key] ?? actions[event.key.toLowerCase()];
  const tag = (event.target as Element | null)?.tagName ?? "";
  if (action !== "close" && (tag === "SELECT" || (tag === "BUTTON" && action === "choose"))) {
    return undefined;
  }
  return action;
}
