/**
 * What no text may have, as the server's policy says: control characters but line breaks and tabs, characters that turn the direction of what
 * stands around them, and what is no character at all. Rows of a source may hold them, and so may notices.
 */
const unseen =
  /\r\n|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** The text with a mark such as [U+0007] in the place of each of them: the same that tables, XML and mails show. */
export function visible(text: string): string {
  return text.replace(unseen, (found) => {
    if (found === "\r\n") return "\n";
    const code = found.charCodeAt(0);
    if (code >= 0xd800 && code <= 0xdfff) return "\ufffd";
    return `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
  });
}

/** The attributes that people read. */
const attributes = ["title", "aria-label", "aria-description", "placeholder", "alt"];

/** Texts in it are its own to change: an editor would take our marks for somebody's typing. */
const editors = ".cm-editor, textarea, [contenteditable]";

/**
 * Keeps every text below a root visible, whatever draws it, before the browser paints. The values behind the texts stay as they are: what is copied,
 * searched for or sent back is raw. Returns what ends it.
 */
export function keepVisible(root: Node): () => void {
  const observer = new MutationObserver((changes) => {
    for (const { target, attributeName, addedNodes } of changes) {
      if (attributeName) showAttribute(target as Element, attributeName);
      else if (target.nodeType === Node.TEXT_NODE) showText(target as Text);
      for (const node of addedNodes) show(node);
    }
  });
  show(root);
  observer.observe(root, {
    subtree: true,
    childList: true,
    characterData: true,
    attributeFilter: attributes,
  });
  return () => observer.disconnect();
}

function show(node: Node): void {
  if (node.nodeType === Node.TEXT_NODE) return showText(node as Text);
  if (node.nodeType === Node.ELEMENT_NODE)
    for (const name of attributes)
      if ((node as Element).hasAttribute(name)) showAttribute(node as Element, name);
  for (const child of node.childNodes) show(child);
}

function showText(node: Text): void {
  const shown = visible(node.data);
  if (shown !== node.data && !node.parentElement?.closest(editors)) node.data = shown;
}

function showAttribute(element: Element, name: string): void {
  const value = element.getAttribute(name);
  if (value === null) return;
  const shown = visible(value);
  if (shown !== value) element.setAttribute(name, shown);
}
