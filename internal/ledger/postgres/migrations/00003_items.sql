-- Work queues. docs/adr/queue-ledger.md tells why the tables are these.

-- +goose Up

-- A queue, or its test twin. Rows are never deleted: processes remember the ids. sink is whose epoch counts; position is that of
-- the last entry of moves that was applied in the epoch.
CREATE TABLE queues (
    id        integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name      text COLLATE "C" NOT NULL UNIQUE,
    sink      text COLLATE "C" NOT NULL,
    epoch     text    NOT NULL DEFAULT '',
    position  bigint  NOT NULL DEFAULT 0,
    paused    boolean NOT NULL DEFAULT false,
    paused_by text    NOT NULL DEFAULT '',
    paused_at bigint  NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Items as they were pushed. Nothing in here ever changes. until_at is the end of the dedupe window, 0 = that of the item.
CREATE SEQUENCE items_seq;
CREATE TABLE items (
    seq        bigint   NOT NULL,
    created_at bigint   NOT NULL,
    ready_at   bigint   NOT NULL,
    until_at   bigint   NOT NULL,
    queue_id   integer  NOT NULL,
    priority   smallint NOT NULL,
    id         text COLLATE "C" NOT NULL,
    bucket     text     NOT NULL,
    dedupe_key text     NOT NULL,
    subject    text     NOT NULL,
    pushed_by  text     NOT NULL,
    node       text     NOT NULL,
    payload    bytea    NOT NULL,
    PRIMARY KEY (queue_id, seq),
    UNIQUE (queue_id, id)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);
-- A payload is a few hundred bytes that hardly compress: trying costs time.
ALTER TABLE items ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE INDEX items_window ON items (queue_id, until_at, seq) WHERE until_at > 0;

-- Items that have not ended, as they stand after their last recorded moves. state is a letter.
CREATE TABLE open_items (
    seq          bigint   NOT NULL,
    moves        bigint   NOT NULL,
    due          bigint   NOT NULL,
    subject_hash bigint   NOT NULL,
    queue_id     integer  NOT NULL,
    attempt      bigint   NOT NULL,
    failures     integer  NOT NULL,
    suspends     integer  NOT NULL,
    state        text     NOT NULL,
    assignee     text     NOT NULL,
    PRIMARY KEY (queue_id, seq)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX open_items_subject ON open_items (queue_id, subject_hash) WHERE subject_hash <> 0;

-- Items that ended otherwise than done: removed or refused.
CREATE TABLE ended_early (
    seq      bigint  NOT NULL,
    queue_id integer NOT NULL,
    state    text COLLATE "C" NOT NULL,
    PRIMARY KEY (queue_id, state, seq)
);

-- Traces: a row is the moves of one item that were recorded together, as text; at is that of the last.
CREATE TABLE item_moves (
    seq   bigint NOT NULL,
    at    bigint NOT NULL,
    moves text   NOT NULL
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX item_moves_seq ON item_moves (seq);
