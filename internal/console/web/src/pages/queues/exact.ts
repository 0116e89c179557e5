interface Exact {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context?: { source?: string }) => unknown,
  ): unknown;
  rawJSON?(text: string): unknown;
}

/**
 * Reads JSON without rounding its numbers: those that a JavaScript number cannot hold are kept as they are written, and
 * JSON.stringify writes them so again. Browsers that cannot do that round them.
 */
export function parseExactly(text: string): unknown {
  const json = JSON as unknown as Exact;
  return json.parse(text, (_, value, context) => {
    if (typeof value !== "number" || !context?.source || !json.rawJSON) return value;
    return String(value) === context.source ? value : json.rawJSON(context.source);
  });
}
