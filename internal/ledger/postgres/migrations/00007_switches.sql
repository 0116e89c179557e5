-- Live switches of rules, the nodes of the cluster, and what a time of being disabled leaves behind.

-- +goose Up

-- What operators have switched, beside the files. rule '*' = every rule; scope '*' = the whole rule. state: 0 cleared (the file says), 1 on, 2 off.
-- until 0 = for good. A row stays when it is cleared or has ended: it tells when the rule was free again.
CREATE TABLE switches (
    rule   text COLLATE "C" NOT NULL,
    scope  text COLLATE "C" NOT NULL,
    state  smallint NOT NULL,
    until  bigint   NOT NULL,
    at     bigint   NOT NULL,
    reason text     NOT NULL,
    actor  text     NOT NULL,
    PRIMARY KEY (rule, scope)
);
INSERT INTO ledger_numbers VALUES ('switches', 0);

-- Who runs, and with which program and rules.
CREATE TABLE nodes (
    node    text COLLATE "C" PRIMARY KEY,
    program text   NOT NULL,
    rules   text   NOT NULL,
    started bigint NOT NULL,
    seen    bigint NOT NULL
);

-- The last firing that was left out while the rule was disabled: no time has passed for its findings since the last run before it.
ALTER TABLE rule_scopes ADD COLUMN thawed_due bigint NOT NULL DEFAULT 0;
