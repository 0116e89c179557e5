import { Server } from "../support/server";

export const ruleCount = 2_000;
const batch = 1_000;

/** A server with many rules, which rest, and so many notices, whole thousands of them. */
export async function largeSite(noticeCount: number): Promise<Server> {
  const rules = Array.from({ length: ruleCount }, (_, i) => {
    const id = `rule-${String(i).padStart(4, "0")}`;
    return `  - {id: ${id}, title: "Rule ${i} of many", when: n > 1, key: [n], probe: {sql: SELECT 1 AS n},
     notice: {type: WAVE_STUCK, warehouse: "'119240'", title: "Wave", fields: {wave: n}}, deliver: [{sink: inbox}]}`;
  });
  const server = await Server.start({
    rules: {
      "many.yaml": `version: 1\ndefaults: {source: wms, schedule: {cron: "@every 12h"}}\nrules:\n${rules.join("\n")}\n`,
    },
    files: { "wms.db": "" }, // an empty file is an empty database
    config: 'sinks: {inbox: {type: inbox}}\nsources: {wms: {driver: sqlite, url: "sqlite:wms.db"}}\n',
  });
  for (let sent = 0; sent < noticeCount; sent += batch) {
    await server.send(
      ...Array.from({ length: batch }, (_, i) => ({
        type: "REP_NOTICE",
        warehouse: i % 2 === 0 ? "119240" : "119241",
        title: `Notice ${sent + i}`,
        body: "Many of them.",
        data: { bin: `A-${i}` },
        priority: 1 + (i % 5),
        recipients: ["user:ann"],
      })),
    );
  }
  return server;
}
