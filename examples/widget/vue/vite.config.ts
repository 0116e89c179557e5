import vue from "@vitejs/plugin-vue";
import { defineConfig } from "vite";

// Vue leaves the element to the browser.
const isCustomElement = (tag: string) => tag === "tallyman-inbox";

export default defineConfig({
  plugins: [vue({ template: { compilerOptions: { isCustomElement } } })],
});
