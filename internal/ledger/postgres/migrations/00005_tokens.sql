-- API tokens.

-- +goose Up

-- hash is the SHA-256 of the secret, which nobody keeps; id is made of it. access, subscribers and warehouses are JSON arrays of texts,
-- '' = none. Times are in µs, 0 = never.
CREATE TABLE tokens (
    id          text COLLATE "C" PRIMARY KEY,
    hash        bytea  NOT NULL UNIQUE,
    name        text   NOT NULL,
    subject     text   NOT NULL,
    access      text   NOT NULL,
    subscribers text   NOT NULL,
    warehouses  text   NOT NULL,
    created     bigint NOT NULL,
    created_by  text   NOT NULL,
    expires     bigint NOT NULL,
    used        bigint NOT NULL DEFAULT 0,
    revoked     bigint NOT NULL DEFAULT 0,
    revoked_by  text   NOT NULL DEFAULT ''
);
INSERT INTO ledger_numbers VALUES ('tokens', 0);
