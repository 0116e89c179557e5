/** Writes a key for people: its values, without the marks of JSON. A key that is no JSON array stays as it is. */
export function keyText(key: string): string {
  try {
    const values: unknown = JSON.parse(key);
    if (!Array.isArray(values)) return key;
    return values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(", ");
  } catch {
    return key;
  }
}
