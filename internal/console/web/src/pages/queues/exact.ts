interface Exact {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context?: { source?: string }) => unknown,
  ): unknown;
  rawJSON?(text: string): unknown;
}

/**
 * Reads JSON without rounding its numbers. A number that a JavaScript number cannot hold keeps its text, and
 * JSON.stringify writes the same text again. A browser without JSON.rawJSON rounds such numbers.
 */
export function parseExactly(text: string): unknown {
  const json = JSON as unknown as Exact;
  return json.parse(text, (_, value, context) => {
    if (typeof value !== "number" || !context?.source || !json.rawJSON) return value;
    return String(value) === context.source ? value : json.rawJSON(context.source);
  });
}
