/** A key as people say it: its values, without the marks of JSON. What is no JSON array is said as it is. */
export function keyText(key: string): string {
  try {
    const values: unknown = JSON.parse(key);
    if (!Array.isArray(values)) return key;
    return values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(", ");
  } catch {
    return key;
  }
}
