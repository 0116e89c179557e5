import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { top } from "./setup";

/** The sizes that pictures are taken at, and that no page may be clipped at. */
export const sizes = {
  wide: { viewport: { width: 1440, height: 900 }, hasTouch: false },
  large: { viewport: { width: 1920, height: 1080 }, hasTouch: false },
  narrow: { viewport: { width: 390, height: 844 }, hasTouch: true },
};

/** Pictures that the README shows are kept; the others are for whoever has made them. */
const kept = new Set(
  ["overview-wide", "rule-why-wide", "notice-wide", "widget-wide"].flatMap((name) => [name, `${name}-dark`]),
);

/** Where the picture of that name goes. */
export function place(name: string): string {
  const folder = join(top, kept.has(name) ? "docs/screenshots" : "bin/screenshots");
  mkdirSync(folder, { recursive: true });
  return join(folder, `${name}.png`);
}
