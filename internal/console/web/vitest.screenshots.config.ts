import { defineConfig } from "vitest/config";

// Pictures of every page, for people to look at: make screenshots.
export default defineConfig({
  test: {
    include: ["browser/screenshots/*.ts"],
    globalSetup: ["browser/support/setup.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
