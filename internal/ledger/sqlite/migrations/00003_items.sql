-- Work queues. docs/adr/queue-ledger.md tells why the tables are these.

-- +goose Up

-- A queue, or its test twin. sink is whose epoch counts; position is that of the last entry of moves that was applied in the
-- epoch.
CREATE TABLE queues (
    id        INTEGER PRIMARY KEY,
    name      TEXT    NOT NULL UNIQUE,
    sink      TEXT    NOT NULL,
    epoch     TEXT    NOT NULL DEFAULT '',
    position  INTEGER NOT NULL DEFAULT 0,
    paused    INTEGER NOT NULL DEFAULT 0,
    paused_by TEXT    NOT NULL DEFAULT '',
    paused_at INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Items as they were pushed. Nothing in here ever changes. until_at is the end of the dedupe window, 0 = that of the item.
CREATE TABLE items (
    seq        INTEGER PRIMARY KEY,
    queue_id   INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    priority   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    ready_at   INTEGER NOT NULL,
    until_at   INTEGER NOT NULL,
    bucket     TEXT    NOT NULL,
    dedupe_key TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    pushed_by  TEXT    NOT NULL,
    node       TEXT    NOT NULL,
    payload    BLOB    NOT NULL,
    UNIQUE (queue_id, id)
) STRICT;
CREATE INDEX items_queue ON items (queue_id, seq);
CREATE INDEX items_window ON items (queue_id, until_at, seq) WHERE until_at > 0;

-- Items that have not ended, as they stand after their last recorded moves. state is a letter.
CREATE TABLE open_items (
    queue_id     INTEGER NOT NULL,
    seq          INTEGER NOT NULL,
    state        TEXT    NOT NULL,
    moves        INTEGER NOT NULL,
    attempt      INTEGER NOT NULL,
    failures     INTEGER NOT NULL,
    suspends     INTEGER NOT NULL,
    due          INTEGER NOT NULL,
    assignee     TEXT    NOT NULL,
    subject_hash INTEGER NOT NULL,
    PRIMARY KEY (queue_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX open_items_subject ON open_items (queue_id, subject_hash) WHERE subject_hash <> 0;

-- Items that ended otherwise than done: removed or refused.
CREATE TABLE ended_early (
    queue_id INTEGER NOT NULL,
    state    TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    PRIMARY KEY (queue_id, state, seq)
) STRICT, WITHOUT ROWID;

-- Traces: a row is the moves of one item that were recorded together, as text; at is that of the last.
CREATE TABLE item_moves (
    num   INTEGER PRIMARY KEY,
    seq   INTEGER NOT NULL,
    at    INTEGER NOT NULL,
    moves TEXT    NOT NULL
) STRICT;
CREATE INDEX item_moves_seq ON item_moves (seq);

INSERT INTO ledger_numbers VALUES ('item', 0);
