import { texts } from "../../../lib/preferences.svelte";

/** The words around the source of a rule. */
export const t = texts({
  en: {
    label: "The rule as it runs, in YAML",
    from: "{file}, from line {line}",
    running: "This is the version that runs, without the defaults of the file.",
    copy: "Copy the text",
    disk: "The file on the disk differs from what runs",
    diskMeans: "A change of the file is not in force. Correct the problems in the file and reload the files.",
    diskPending: "A change of the file is not in force yet. Reload the files.",
    gone: "No file that can be read has this rule any more. The rule runs on as before.",
    diff: "From the running version to the file on the disk",
    hint: "Press Escape and then Tab to leave the text.",
  },
  zh: {
    label: "正在运行的规则（YAML）",
    from: "{file}，从第 {line} 行起",
    running: "这是正在运行的版本，不含文件默认值补充的内容。",
    copy: "复制文本",
    disk: "磁盘上的文件与正在运行的版本不同",
    diskMeans: "对文件的修改没有生效。请修正其中的问题，然后重新加载文件。",
    diskPending: "对文件的修改尚未生效。请重新加载文件。",
    gone: "能读取的文件中都没有此规则。规则按原样继续运行。",
    diff: "从正在运行的版本到磁盘上的文件",
    hint: "按 Escape 再按 Tab 离开文本。",
  },
});
