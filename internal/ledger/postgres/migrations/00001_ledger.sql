-- Texts that are compared or sorted are COLLATE "C": bytewise, so that order and speed do not depend on the
-- locale of the database. Times are µs since 1970, 0 = never.

-- +goose Up

-- The clock that leases and expiry are judged by: the given one (tests), or else the server's.
-- +goose StatementBegin
CREATE FUNCTION ledger_now(given bigint) RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT coalesce(given, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) $$;
-- +goose StatementEnd

-- Fences commits. One for all rules, so that no token comes twice, even when a rule is forgotten and returns.
CREATE SEQUENCE ledger_token;

-- A rule in a scope: its state between runs, and its claim. running_due is set from the claim until the firing
-- is done; a lease in the past means that it was abandoned.
CREATE TABLE rule_scopes (
    id            integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    rule          text COLLATE "C" NOT NULL,
    scope         text COLLATE "C" NOT NULL,
    registered_at bigint NOT NULL,
    last_due      bigint NOT NULL DEFAULT 0,
    last_ok_due   bigint NOT NULL DEFAULT 0,
    clock         bigint NOT NULL DEFAULT 0,
    done_due      bigint NOT NULL DEFAULT 0,
    watermark     text   NOT NULL DEFAULT '',
    token         bigint NOT NULL DEFAULT 0,
    running_due   bigint,
    running_node  text   NOT NULL DEFAULT '',
    repeated      boolean NOT NULL DEFAULT false,
    lease_until   bigint NOT NULL DEFAULT 0,
    UNIQUE (rule, scope)
) WITH (fillfactor = 50);

-- The record of each firing. token and answer let a repeated commit be known. It outlives its rule_scope.
CREATE TABLE firings (
    rule         text COLLATE "C" NOT NULL,
    scope        text COLLATE "C" NOT NULL,
    due          bigint NOT NULL,
    token        bigint NOT NULL,
    answer       text   NOT NULL,
    node         text   NOT NULL,
    started_at   bigint NOT NULL,
    duration     bigint NOT NULL,
    outcome      text   NOT NULL,
    row_count    bigint NOT NULL,
    matched      bigint NOT NULL,
    errored      bigint NOT NULL,
    pending      bigint NOT NULL,
    firing       bigint NOT NULL,
    notices      bigint NOT NULL,
    unsubscribed bigint NOT NULL,
    error        text   NOT NULL,
    samples      text   NOT NULL,
    PRIMARY KEY (rule, scope, due)
);

-- Open findings. The primary key holds a hash, since a key may be longer than an index entry.
CREATE TABLE findings (
    scope_id      integer  NOT NULL,
    key_hash      uuid     NOT NULL,
    phase         smallint NOT NULL,
    priority      smallint NOT NULL,
    ordinal       integer  NOT NULL,
    episode       bigint   NOT NULL,
    seen_clock    bigint   NOT NULL,
    absent_since  bigint   NOT NULL,
    firing_since  bigint   NOT NULL,
    last_notified bigint   NOT NULL,
    key           text     NOT NULL,
    notice_id     text COLLATE "C" NOT NULL,
    PRIMARY KEY (scope_id, key_hash)
) WITH (fillfactor = 90);

-- Notices. The deliveries of one lie between first_seq and last_seq (0 = it has none), which saves an index
-- on deliveries.
CREATE TABLE notices (
    id         text COLLATE "C" PRIMARY KEY,
    type       text   NOT NULL,
    rule       text   NOT NULL,
    status     text   NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    first_seq  bigint NOT NULL,
    last_seq   bigint NOT NULL,
    body       bytea  NOT NULL
);
-- A body is a few hundred bytes that do not compress: trying costs time.
ALTER TABLE notices ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX notices_created ON notices (created_at);

-- Sink and warehouse, and which node drains it. Rows are never deleted: processes remember the ids.
CREATE TABLE lanes (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sink        text COLLATE "C" NOT NULL,
    warehouse   text COLLATE "C" NOT NULL,
    node        text   NOT NULL DEFAULT '',
    lease_until bigint NOT NULL DEFAULT 0,
    UNIQUE (sink, warehouse)
) WITH (fillfactor = 50);

-- One notice on its way to one sink. expires_at is the notice's, so that finding the living ones needs no join.
CREATE SEQUENCE deliveries_seq;
CREATE TABLE deliveries (
    seq        bigint   NOT NULL PRIMARY KEY,
    expires_at bigint   NOT NULL,
    score      bigint   NOT NULL DEFAULT 0,
    sent_at    bigint   NOT NULL DEFAULT 0,
    lane_id    integer  NOT NULL,
    attempts   integer  NOT NULL DEFAULT 0,
    state      smallint NOT NULL DEFAULT 0,
    notice_id  text COLLATE "C" NOT NULL,
    recipients text     NOT NULL DEFAULT '',
    epoch      text     NOT NULL DEFAULT '',
    last_error text     NOT NULL DEFAULT ''
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX deliveries_pending ON deliveries (lane_id, seq) WHERE state = 0;
CREATE INDEX deliveries_sent ON deliveries (lane_id, score) INCLUDE (expires_at) WHERE state = 1;
CREATE INDEX deliveries_ended ON deliveries (lane_id, state) WHERE state > 1;

CREATE TABLE inbox_states (
    sink        text COLLATE "C" PRIMARY KEY,
    epoch       text    NOT NULL,
    run_ids     text    NOT NULL,
    building    boolean NOT NULL,
    node        text    NOT NULL,
    lease_until bigint  NOT NULL
);

CREATE TABLE types (
    code       text COLLATE "C" PRIMARY KEY,
    numeric_id bigint NOT NULL UNIQUE,
    name       text   NOT NULL,
    names      text   NOT NULL,
    category   text   NOT NULL,
    retention  bigint NOT NULL,
    fields     text   NOT NULL
);

CREATE TABLE subscriptions (
    type       text COLLATE "C" NOT NULL REFERENCES types ON DELETE CASCADE,
    warehouse  text COLLATE "C" NOT NULL,
    subscriber text COLLATE "C" NOT NULL,
    PRIMARY KEY (type, warehouse, subscriber)
);

-- Numbers of the whole ledger. types_version grows with every change of a type; subscribed is 1 once there was
-- a subscription.
CREATE TABLE ledger_numbers (
    name  text COLLATE "C" PRIMARY KEY,
    value bigint NOT NULL
);
INSERT INTO ledger_numbers VALUES ('types_version', 0), ('subscribed', 0);
