import { defineConfig } from "vitest/config";

// Tests in a real browser against a real server. They share two cores with both, so files run one after the other and waits
// are long; nothing sleeps.
export default defineConfig({
  test: {
    include: ["browser/**/*.test.ts"],
    globalSetup: ["browser/support/setup.ts"],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
