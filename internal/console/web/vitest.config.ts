import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

// Unit tests: next to what they test, without a browser. Files share a document: each puts back what it changes, and to make one for
// each file took three quarters of the time.
export default defineConfig({
  plugins: [svelte()],
  resolve: { conditions: ["browser"] },
  test: { include: ["src/**/*.test.ts"], environment: "happy-dom", isolate: false },
});
