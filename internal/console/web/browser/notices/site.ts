import type { ServerOptions } from "../support/server";

/** Rules that run only when they are asked to, on rows that are always the same. */
const stock = `version: 1
defaults: {source: wms, schedule: {cron: "0 3 1 1 *"}}
rules:
  - id: negative-bin-stock
    title: Negative bin stock
    labels: {area: replenishment}
    scopes:
      - {name: "119240", params: {warehouse: 119240}}
      - {name: "119241", params: {warehouse: 119241}}
    probe: {sql: "SELECT CAST(:warehouse AS INTEGER) AS wh_id, CAST('A-01' AS TEXT) AS bin, CAST(-3 AS INTEGER) AS qty"}
    when: qty < 0
    key: [wh_id, bin]
    notice:
      type: REP_NOTICE
      priority: 4
      title: {en: "Bin {{ .bin }} is at {{ .qty }}", zh: "货位 {{ .bin }} 库存 {{ .qty }}"}
      body: {en: "Replenish it.", zh: "请补货。"}
      fields: {bin: bin}
    deliver: [{sink: inbox}, {sink: work}]
  - id: at-rest
    title: Off by its file
    enabled: false
    when: n > 0
    key: [n]
    probe: {sql: SELECT CAST(1 AS INTEGER) AS n}
    notice: {type: WAVE_STUCK, warehouse: "'119240'", title: Wave, fields: {wave: n}}
    deliver: [{sink: inbox}]
`;

/** A rule that does not run, since its table is missing. */
const broken = `version: 1
rules:
  - id: without-table
    source: wms
    schedule: {cron: "0 3 1 1 *"}
    when: n > 0
    key: [n]
    probe: {sql: SELECT n FROM nowhere}
    notice: {type: WAVE_STUCK, warehouse: "'119240'", title: Wave, fields: {wave: n}}
    deliver: [{sink: inbox}]
`;

/** A server with two rules, an inbox and a queue, where all is well. */
export const site: ServerOptions = {
  rules: { "stock.yaml": stock },
  files: { "wms.db": "" }, // an empty file is an empty database
  config: `sinks: {inbox: {type: inbox}, work: {type: queue}}
sources: {wms: {driver: sqlite, url: "sqlite:wms.db"}}
subscriptions: [{type: REP_NOTICE, warehouse: "*", subscriber: "role:keeper"}]
`,
};

/** The same with a rule that does not run. */
export const brokenSite: ServerOptions = { ...site, rules: { "stock.yaml": stock, "broken.yaml": broken } };
