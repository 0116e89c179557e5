-- Silences and maintenance windows, and what they hold back. docs/adr/silences.md tells why.

-- +goose Up

-- matchers is a JSON array of texts. until_at 0 = for ever, which only those with a cron may be: they are active for duration whenever it
-- fires, between from_at and until_at. ended_at is when an operator ended it, 0 = nobody did. events counts the rows of mode event that it has
-- dropped.
CREATE TABLE silences (
    id         text COLLATE "C" PRIMARY KEY,
    matchers   text   NOT NULL,
    from_at    bigint NOT NULL,
    until_at   bigint NOT NULL,
    cron       text   NOT NULL,
    timezone   text   NOT NULL,
    duration   bigint NOT NULL,
    comment    text   NOT NULL,
    author     text   NOT NULL,
    created_at bigint NOT NULL,
    ended_at   bigint NOT NULL DEFAULT 0,
    ended_by   text   NOT NULL DEFAULT '',
    events     bigint NOT NULL DEFAULT 0
);
INSERT INTO ledger_numbers VALUES ('silences', 0);

-- The silences that have held back what the last run had to tell of the finding, separated by spaces.
ALTER TABLE findings ADD COLUMN silenced text NOT NULL DEFAULT '';
CREATE INDEX findings_silenced ON findings (silenced) WHERE silenced <> '';

-- The silence that holds the delivery back, and until when: it does for as long as that is when the delivery is due.
ALTER TABLE pushes ADD COLUMN held text NOT NULL DEFAULT '', ADD COLUMN held_until bigint NOT NULL DEFAULT 0;
CREATE INDEX pushes_held ON pushes (held) WHERE held <> '' AND due IS NOT NULL;
