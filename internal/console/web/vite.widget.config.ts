import { copyFileSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

/** What the widget may weigh, in bytes of gzip. */
const limit = 25_000;

const banner = `/*! Tallyman's inbox widget, Apache-2.0.
Contains preact, MIT, (c) Jason Miller, and eventsource-parser, MIT, (c) Espen Hovlandsdal. */`;

/** Ends the build if the widget weighs too much: every page of a warehouse's handhelds loads it. */
function weigh(): Plugin {
  return {
    name: "weigh",
    writeBundle({ dir }) {
      const size = gzipSync(readFileSync(resolve(dir ?? "", "widget.js")), { level: 9 }).length;
      this.info(`widget.js: ${size} bytes of gzip`);
      if (size > limit) {
        this.error(`widget.js has ${size} bytes of gzip, and ${limit} are allowed`);
      }
    },
  };
}

/** Puts Tallyman's license beside what is built. */
function license(): Plugin {
  return {
    name: "license",
    writeBundle: ({ dir }) =>
      copyFileSync(resolve(import.meta.dirname, "../../../LICENSE"), resolve(dir ?? "", "LICENSE")),
  };
}

// The widget: one file that is a module and a plain script alike. In the mode "package" it is an ES module, with what else npm's package has.
export default defineConfig(({ mode }) => {
  const isPackage = mode === "package";
  return {
    plugins: [isPackage ? license() : weigh()],
    publicDir: isPackage ? "src/widget/package" : false,
    build: {
      outDir: "../dist",
      emptyOutDir: false, // the console is there already
      target: "es2022",
      reportCompressedSize: false,
      rolldownOptions: { output: { postBanner: banner } },
      lib: isPackage
        ? { entry: "src/widget/module.ts", formats: ["es"], fileName: () => "tallyman-inbox.js" }
        : {
            entry: "src/widget/main.ts",
            formats: ["iife"],
            name: "TallymanInbox",
            fileName: () => "widget.js",
          },
    },
  };
});
