-- API tokens.

-- +goose Up

-- hash is the SHA-256 of the secret, which nobody keeps; id is made of it. access, subscribers and warehouses are JSON arrays of texts,
-- '' = none. Times are in µs, 0 = never.
CREATE TABLE tokens (
    id          TEXT    NOT NULL PRIMARY KEY,
    hash        BLOB    NOT NULL UNIQUE,
    name        TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    access      TEXT    NOT NULL,
    subscribers TEXT    NOT NULL,
    warehouses  TEXT    NOT NULL,
    created     INTEGER NOT NULL,
    created_by  TEXT    NOT NULL,
    expires     INTEGER NOT NULL,
    used        INTEGER NOT NULL DEFAULT 0,
    revoked     INTEGER NOT NULL DEFAULT 0,
    revoked_by  TEXT    NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
INSERT INTO ledger_numbers VALUES ('tokens', 0);
