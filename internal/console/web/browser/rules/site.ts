import type { ServerOptions } from "../support/server";

/** Rules that run only when they are asked to, on rows that are always the same. */
const stock = `version: 1
defaults: {source: wms, owner: inventory-control, schedule: {cron: "0 3 1 1 *"}}
rules:
  - id: negative-bin-stock
    title: Negative bin stock
    description: A picking wave drove a bin below zero.
    runbook_url: https://wiki.example.com/negative-bin
    labels: {severity: high}
    scopes:
      - {name: "119240", timezone: Asia/Shanghai, params: {warehouse: 119240}}
      - {name: "119241", timezone: Europe/Berlin, params: {warehouse: 119241}}
    probe:
      sql: |
        SELECT CAST(:warehouse AS INTEGER) AS wh_id, CAST('A-01' AS TEXT) AS bin, CAST(-3 AS INTEGER) AS qty
        UNION ALL SELECT CAST(:warehouse AS INTEGER), CAST('A-02' AS TEXT), CAST(7 AS INTEGER)
    when: qty < 0
    key: [wh_id, bin]
    notice: {type: REP_NOTICE, title: {en: "Bin {{ .bin }} is at {{ .qty }}", zh: "货位 {{ .bin }} 库存 {{ .qty }}"}, fields: {bin: bin}}
    deliver: [{sink: inbox}]
  - id: on-trial
    title: A rule on trial
    shadow: true
    when: n > 0
    key: [n]
    probe: {sql: SELECT 1 AS n}
    notice: {type: WAVE_STUCK, warehouse: "'119240'", title: Wave, fields: {wave: n}}
    deliver: [{sink: inbox}]
  - id: without-table
    title: Its table is missing
    when: n > 0
    key: [n]
    probe: {sql: SELECT n FROM nowhere}
    notice: {type: WAVE_STUCK, warehouse: "'119240'", title: Wave, fields: {wave: n}}
    deliver: [{sink: inbox}]
  - id: at-rest
    title: Off by its file
    enabled: false
    when: n > 0
    key: [n]
    probe: {sql: SELECT 1 AS n}
    notice: {type: WAVE_STUCK, warehouse: "'119240'", title: Wave, fields: {wave: n}}
    deliver: [{sink: inbox}]
`;

/** A file that is refused, because a field is misspelled. */
const bad = `version: 1
rules:
  - {id: never-loaded, source: wms, shedule: {cron: "@every 1h"}, when: n > 0, key: [n], probe: {sql: SELECT 1 AS n},
     notice: {type: WAVE_STUCK, warehouse: "'119240'", title: Wave, fields: {wave: n}}, deliver: [{sink: inbox}]}
`;

/** Rules enough that not all of them fit on a screen. */
const many = `version: 1
defaults: {source: wms, enabled: false, schedule: {cron: "@every 12h"}}
rules:
${Array.from(
  { length: 200 },
  (
    _,
    i,
  ) => `  - {id: many-${String(i).padStart(3, "0")}, title: "Many ${i}", when: n > 1, key: [n], probe: {sql: SELECT 1 AS n},
     notice: {type: WAVE_STUCK, warehouse: "'119240'", title: Wave, fields: {wave: n}}, deliver: [{sink: inbox}]}`,
).join("\n")}
`;

const base: ServerOptions = {
  files: { "wms.db": "" }, // an empty file is an empty database
  config: 'sinks: {inbox: {type: inbox}}\nsources: {wms: {driver: sqlite, url: "sqlite:wms.db"}}\n',
};

/** A few rules in different states, a file with a problem, and many that rest. */
export const listSite: ServerOptions = {
  ...base,
  rules: { "stock.yaml": stock, "bad.yaml": bad, "many.yaml": many },
};

/** A few rules in different states. */
export const ruleSite: ServerOptions = { ...base, rules: { "stock.yaml": stock } };

/** What the API says of a rule. */
export interface RuleAnswer {
  scopes: {
    scope: string;
    enabled: boolean;
    health: string;
    shadow?: boolean;
    promoted?: string;
    firing: number;
    switch?: { rule: string; scope: string; state: string; reason?: string; until?: string; by: string };
  }[];
}
