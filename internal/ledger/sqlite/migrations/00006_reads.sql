-- Up to where users have read inboxes, and what the index needs to write read state back.

-- +goose Up

-- User has read everything in an inbox of a warehouse up to a score of the inbox's clock; at is when the score rose last.
CREATE TABLE reads (
    warehouse  TEXT    NOT NULL,
    subscriber TEXT    NOT NULL,
    inbox      TEXT    NOT NULL,
    score      INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (warehouse, subscriber, inbox)
) STRICT, WITHOUT ROWID;
CREATE INDEX reads_at ON reads (at, warehouse, subscriber, inbox);

-- When the notice expires: the index wants marks of those that have not.
ALTER TABLE marks ADD COLUMN expires_at INTEGER NOT NULL DEFAULT 0;
UPDATE marks SET expires_at = coalesce((SELECT n.expires_at FROM notices n WHERE n.id = notice_id), 0);
CREATE INDEX marks_live ON marks (expires_at, notice_id, subscriber, kind);
CREATE INDEX marks_at ON marks (at, notice_id, subscriber, kind);

-- Escalations, which a read-all looks through.
CREATE INDEX pushes_unless_read ON pushes (seq) WHERE due IS NOT NULL AND unless = 'read';
