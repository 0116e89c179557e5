-- Live switches of rules, the nodes of the cluster, and what a time of being disabled leaves behind.

-- +goose Up

-- What operators have switched, beside the files. rule '*' = every rule; scope '*' = the whole rule. state: 0 cleared (the file says), 1 on, 2 off.
-- until 0 = for good. A row stays when it is cleared or has ended: it tells when the rule was free again.
CREATE TABLE switches (
    rule   TEXT    NOT NULL,
    scope  TEXT    NOT NULL,
    state  INTEGER NOT NULL,
    until  INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    reason TEXT    NOT NULL,
    actor  TEXT    NOT NULL,
    PRIMARY KEY (rule, scope)
) STRICT, WITHOUT ROWID;
INSERT INTO ledger_numbers VALUES ('switches', 0);

-- Who runs, and with which program and rules.
CREATE TABLE nodes (
    node    TEXT    NOT NULL PRIMARY KEY,
    program TEXT    NOT NULL,
    rules   TEXT    NOT NULL,
    started INTEGER NOT NULL,
    seen    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The last firing that was left out while the rule was disabled: no time has passed for its findings since the last run before it.
ALTER TABLE rule_scopes ADD COLUMN thawed_due INTEGER NOT NULL DEFAULT 0;
