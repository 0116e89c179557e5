import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// The console. What is built is committed, so names carry a hash of the content and nothing of the machine.
export default defineConfig({
  plugins: [svelte()],
  build: {
    outDir: "../dist",
    emptyOutDir: true,
    target: ["chrome123", "firefox125", "safari17.5"], // since 2024: light-dark(), popovers, dialogs
    assetsInlineLimit: 0, // data: URLs would need room in the content security policy
    modulePreload: { polyfill: false }, // it would be an inline script
    reportCompressedSize: false,
    license: { fileName: "licenses.md" },
  },
  server: {
    // `npm run dev` beside `tallyman serve`
    proxy: { "/api": process.env["TALLYMAN_SERVER"] ?? "http://127.0.0.1:8080" },
  },
});
