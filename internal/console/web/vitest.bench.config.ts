import { defineConfig } from "vitest/config";

// How fast the console answers people: make bench BENCH=Console.
export default defineConfig({
  test: {
    include: ["browser/bench/*.ts"],
    globalSetup: ["browser/support/setup.ts"],
    testTimeout: 1_800_000,
    hookTimeout: 300_000,
  },
});
