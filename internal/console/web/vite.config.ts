import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// The console. What is built is committed, so names carry a hash of the content and nothing of the machine.
export default defineConfig({
  plugins: [svelte()],
  build: {
    outDir: "../dist",
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0, // data: URLs would need room in the content security policy
    modulePreload: { polyfill: false }, // it would be an inline script
    reportCompressedSize: false,
    license: true,
  },
  server: {
    // `npm run dev` beside `tallyman serve`
    proxy: { "/api": process.env["TALLYMAN_SERVER"] ?? "http://127.0.0.1:8080" },
  },
});
