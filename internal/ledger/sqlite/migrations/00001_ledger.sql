-- Times are µs since 1970, 0 = never. Texts compare bytewise, which is SQLite's own way. Every table is STRICT.

-- +goose Up

-- A rule in a scope: its state between runs, and its claim. running_due is set from the claim until the firing
-- is done; a lease in the past means that it was abandoned.
CREATE TABLE rule_scopes (
    id            INTEGER PRIMARY KEY,
    rule          TEXT    NOT NULL,
    scope         TEXT    NOT NULL,
    registered_at INTEGER NOT NULL,
    last_due      INTEGER NOT NULL DEFAULT 0,
    last_ok_due   INTEGER NOT NULL DEFAULT 0,
    clock         INTEGER NOT NULL DEFAULT 0,
    done_due      INTEGER NOT NULL DEFAULT 0,
    watermark     TEXT    NOT NULL DEFAULT '',
    token         INTEGER NOT NULL DEFAULT 0,
    running_due   INTEGER,
    running_node  TEXT    NOT NULL DEFAULT '',
    repeated      INTEGER NOT NULL DEFAULT 0,
    lease_until   INTEGER NOT NULL DEFAULT 0,
    UNIQUE (rule, scope)
) STRICT;

-- The record of each firing. token and answer let a repeated commit be known. It outlives its rule_scope.
CREATE TABLE firings (
    rule         TEXT    NOT NULL,
    scope        TEXT    NOT NULL,
    due          INTEGER NOT NULL,
    token        INTEGER NOT NULL,
    answer       TEXT    NOT NULL,
    node         TEXT    NOT NULL,
    started_at   INTEGER NOT NULL,
    duration     INTEGER NOT NULL,
    outcome      TEXT    NOT NULL,
    row_count    INTEGER NOT NULL,
    matched      INTEGER NOT NULL,
    errored      INTEGER NOT NULL,
    pending      INTEGER NOT NULL,
    firing       INTEGER NOT NULL,
    notices      INTEGER NOT NULL,
    unsubscribed INTEGER NOT NULL,
    error        TEXT    NOT NULL,
    samples      TEXT    NOT NULL,
    PRIMARY KEY (rule, scope, due)
) STRICT, WITHOUT ROWID;

-- Open findings.
CREATE TABLE findings (
    scope_id      INTEGER NOT NULL,
    key           TEXT    NOT NULL,
    phase         INTEGER NOT NULL,
    priority      INTEGER NOT NULL,
    ordinal       INTEGER NOT NULL,
    episode       INTEGER NOT NULL,
    seen_clock    INTEGER NOT NULL,
    absent_since  INTEGER NOT NULL,
    firing_since  INTEGER NOT NULL,
    last_notified INTEGER NOT NULL,
    notice_id     TEXT    NOT NULL,
    PRIMARY KEY (scope_id, key)
) STRICT, WITHOUT ROWID;

-- Notices. num ascends in the order of commit; deliveries name it, since it is short and appends to indexes.
CREATE TABLE notices (
    num        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    type       TEXT    NOT NULL,
    rule       TEXT    NOT NULL,
    status     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    body       BLOB    NOT NULL
) STRICT;
CREATE INDEX notices_created ON notices (created_at);

-- Sink and warehouse, and which node drains it.
CREATE TABLE lanes (
    id          INTEGER PRIMARY KEY,
    sink        TEXT    NOT NULL,
    warehouse   TEXT    NOT NULL,
    node        TEXT    NOT NULL DEFAULT '',
    lease_until INTEGER NOT NULL DEFAULT 0,
    UNIQUE (sink, warehouse)
) STRICT;

-- One notice on its way to one sink. expires_at is the notice's. A seq never comes twice, even after pruning.
CREATE TABLE deliveries (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    notice     INTEGER NOT NULL,
    lane_id    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    recipients TEXT    NOT NULL,
    state      INTEGER NOT NULL DEFAULT 0,
    score      INTEGER NOT NULL DEFAULT 0,
    sent_at    INTEGER NOT NULL DEFAULT 0,
    attempts   INTEGER NOT NULL DEFAULT 0,
    epoch      TEXT    NOT NULL DEFAULT '',
    last_error TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX deliveries_notice ON deliveries (notice);
CREATE INDEX deliveries_pending ON deliveries (lane_id, seq) WHERE state = 0;
CREATE INDEX deliveries_sent ON deliveries (lane_id, score, expires_at) WHERE state = 1;
CREATE INDEX deliveries_ended ON deliveries (lane_id, state) WHERE state > 1;

CREATE TABLE inbox_states (
    sink        TEXT    NOT NULL PRIMARY KEY,
    epoch       TEXT    NOT NULL,
    run_ids     TEXT    NOT NULL,
    building    INTEGER NOT NULL,
    node        TEXT    NOT NULL,
    lease_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE types (
    code       TEXT    NOT NULL PRIMARY KEY,
    numeric_id INTEGER NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    names      TEXT    NOT NULL,
    category   TEXT    NOT NULL,
    retention  INTEGER NOT NULL,
    fields     TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE subscriptions (
    type       TEXT NOT NULL REFERENCES types ON DELETE CASCADE,
    warehouse  TEXT NOT NULL,
    subscriber TEXT NOT NULL,
    PRIMARY KEY (type, warehouse, subscriber)
) STRICT, WITHOUT ROWID;

-- Numbers of the whole ledger. types_version grows with every change of a type; subscribed is 1 once there was
-- a subscription; token and notice are the last ones given out.
CREATE TABLE ledger_numbers (
    name  TEXT    NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO ledger_numbers VALUES ('types_version', 0), ('subscribed', 0), ('token', 0), ('notice', 0);
