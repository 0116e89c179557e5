import { defineConfig } from "vitest/config";

// Tests in a real browser against a real server. They share two cores with both, so two files run at a time and waits
// are long; nothing sleeps.
export default defineConfig({
  test: {
    include: ["browser/**/*.test.ts"],
    globalSetup: ["browser/support/setup.ts"],
    maxWorkers: 2,
    isolate: false, // what test files share has no state, and loading the driver takes a second
    testTimeout: 600_000, // the longest walks through some twenty pages; a busy machine takes minutes for it
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } }, // as long as until.ts waits
  },
});
