/**
 * Returns a short name for a text that must not be shown itself. Locks and channels get such names. crypto.subtle would
 * be asynchronous and is missing on plain http.
 */
export function hash(text: string): string {
  return half(text, 1) + half(text, 2);
}

/** Returns 53 bits from two multiplicative hashes whose halves are mixed (cyrb53, public domain). */
function half(text: string, seed: number): string {
  let a = 0xdeadbeef ^ seed;
  let b = 0x41c6ce57 ^ seed;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    a = Math.imul(a ^ char, 2654435761);
    b = Math.imul(b ^ char, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36);
}
