/**
 * Characters that no text may show, as the server's policy says: control characters except line breaks and tabs,
 * characters that turn the direction of the text around them, and code units that are no characters. Rows of a source
 * and notices may have them.
 */
const unseen =
  /\r\n|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/**
 * Returns the text with a mark such as [U+0007] in place of each of these characters. Tables, XML and mails show the
 * same marks. A half of a surrogate pair becomes U+FFFD.
 */
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

/** Texts inside these elements stay as they are, because an editor would take the marks for typed text. */
const editors = ".cm-editor, textarea, [contenteditable]";

/**
 * Replaces such characters in every text below a root before the browser paints, whatever code draws the text. The
 * values behind the texts stay raw for copies, searches and requests. Returns a function that ends this.
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
