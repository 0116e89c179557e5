-- phase: expand
-- locks: nothing that a node uses, because the tables are new
-- lasts: under 1 s
--
-- Times are µs since 1970, 0 = never. Texts compare bytewise, which is SQLite's own way. Every table is STRICT.

-- +goose Up
-- The migration is one statement for goose. Otherwise goose searches each line for the end of a statement, which
-- takes longer than creating the tables.
-- +goose StatementBegin

-- The state of the ledger's clock, in one row; docs/adr/clock-terms.md.
--   began_at  when the term began, by its clock; back is how far the clock went back then
--   withheld  how far the clock is ahead of the time that nodes use, since withheld_at
--   seen      the latest time of the term that nodes have seen
CREATE TABLE clock (
    term        INTEGER NOT NULL,
    began_at    INTEGER NOT NULL,
    back        INTEGER NOT NULL,
    withheld    INTEGER NOT NULL,
    withheld_at INTEGER NOT NULL,
    seen        INTEGER NOT NULL
) STRICT;
INSERT INTO clock VALUES (0, 0, 0, 0, 0, 0);

-- A rule in a scope: its state between runs, and its claim.
--   running_due   due time of the claimed firing until it is done; a lease in the past means that it was abandoned
--   term          the clock term of done_due; running_term is that of running_due
--   promoted_at   since when a rule in shadow is live in the scope; 0 = it is not
--   thawed_due    the last firing that fell into the time when the rule was disabled; this time does not count for the
--                 rule's findings
--   unwell_since  due time of the first run since which every run was degraded or failed; 0 = the last run was ok
--   back          where resolutions go if the rule is removed (JSON), from the last run; '' = nobody is told
CREATE TABLE rule_scopes (
    id            INTEGER PRIMARY KEY,
    rule          TEXT    NOT NULL,
    scope         TEXT    NOT NULL,
    registered_at INTEGER NOT NULL,
    last_due      INTEGER NOT NULL DEFAULT 0,
    last_ok_due   INTEGER NOT NULL DEFAULT 0,
    clock         INTEGER NOT NULL DEFAULT 0,
    term          INTEGER NOT NULL DEFAULT 0,
    done_due      INTEGER NOT NULL DEFAULT 0,
    unwell_since  INTEGER NOT NULL DEFAULT 0,
    watermark     TEXT    NOT NULL DEFAULT '',
    initial       TEXT    NOT NULL DEFAULT '',
    token         INTEGER NOT NULL DEFAULT 0,
    running_term  INTEGER NOT NULL DEFAULT 0,
    running_due   INTEGER,
    running_node  TEXT    NOT NULL DEFAULT '',
    repeated      INTEGER NOT NULL DEFAULT 0,
    lease_until   INTEGER NOT NULL DEFAULT 0,
    promoted_at   INTEGER NOT NULL DEFAULT 0,
    promoted_by   TEXT    NOT NULL DEFAULT '',
    thawed_due    INTEGER NOT NULL DEFAULT 0,
    back          TEXT    NOT NULL DEFAULT '',
    UNIQUE (rule, scope)
) STRICT;

-- Rules that read again below their watermarks. read_from is the position behind which the next scan begins. read_at
-- is when the last scan that read all rows began.
CREATE TABLE look_backs (
    scope_id  INTEGER PRIMARY KEY,
    read_from TEXT    NOT NULL,
    read_at   INTEGER NOT NULL
) STRICT;

-- Rows that such a rule has seen and may read again, in portions: 16 bytes for each row.
CREATE TABLE seen_rows (
    scope_id INTEGER NOT NULL,
    n        INTEGER NOT NULL,
    seen_at  INTEGER NOT NULL,
    position TEXT    NOT NULL,
    backlog  INTEGER NOT NULL,
    identity TEXT    NOT NULL,
    hashes   BLOB    NOT NULL,
    PRIMARY KEY (scope_id, n)
) STRICT;

-- Records of runs. A record has one run, or several consecutive runs with the same result and no notices. due is the
-- due time of the first run. All other columns describe the last run, which was due at last_due. runs is their
-- number. earlier has the runs before the last, in the form of the statement add-run. token and answer let the ledger
-- recognize a repeated commit. A record outlives its rule_scope.
CREATE TABLE firings (
    rule         TEXT    NOT NULL,
    scope        TEXT    NOT NULL,
    term         INTEGER NOT NULL DEFAULT 0,
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
    strays       INTEGER NOT NULL DEFAULT 0,
    error        TEXT    NOT NULL,
    samples      TEXT    NOT NULL,
    last_due     INTEGER NOT NULL,
    runs         INTEGER NOT NULL DEFAULT 1,
    earlier      TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (rule, scope, term, due)
) STRICT, WITHOUT ROWID;
CREATE INDEX firings_failed ON firings (last_due) WHERE outcome = 'failed';

-- Open findings.
--   key_hash   128 bits of the SHA-256 of the key, which nodes remember
--   last_row   the row, as JSON, that changed the finding last, in the run due at row_due; null = none recorded
--   silenced   the silences that held back the notice of the last run, separated by spaces
--   watched    stands for the columns of notify_again_on and their values in the last notice
--   baseline   1 = the first run took all rows as known, including this one, and no notice has reported the finding since
--   warehouse  of the finding's notice; '' = no notice
--   term       the clock term of the episode
CREATE TABLE findings (
    scope_id      INTEGER NOT NULL,
    key_hash      BLOB    NOT NULL,
    key           TEXT    NOT NULL,
    phase         INTEGER NOT NULL,
    priority      INTEGER NOT NULL,
    ordinal       INTEGER NOT NULL,
    episode       INTEGER NOT NULL,
    since_clock   INTEGER NOT NULL,
    absent_since  INTEGER NOT NULL,
    firing_since  INTEGER NOT NULL,
    last_notified INTEGER NOT NULL,
    notice_id     TEXT    NOT NULL,
    group_key     TEXT    NOT NULL DEFAULT '',
    last_row      BLOB,
    row_due       INTEGER NOT NULL DEFAULT 0,
    silenced      TEXT    NOT NULL DEFAULT '',
    watched       TEXT    NOT NULL DEFAULT '',
    baseline      INTEGER NOT NULL DEFAULT 0,
    warehouse     TEXT    NOT NULL DEFAULT '',
    term          INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (scope_id, key_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX findings_silenced ON findings (silenced) WHERE silenced <> '';

-- The plan by which a source would run the probe of a rule in a scope, and the previous plan with another shape
-- (before_until 0 = none).
CREATE TABLE probe_plans (
    rule         TEXT    NOT NULL,
    scope        TEXT    NOT NULL,
    checksum     TEXT    NOT NULL,
    cost         REAL    NOT NULL,
    shape        TEXT    NOT NULL,
    asked_at     INTEGER NOT NULL,
    before_cost  REAL    NOT NULL,
    before_shape TEXT    NOT NULL,
    before_until INTEGER NOT NULL,
    PRIMARY KEY (rule, scope)
) STRICT, WITHOUT ROWID;

-- Notices. num ascends in the order of commit. Deliveries refer to num, because it is short and its index entries are
-- appended. finding is a hash of rule, scope and key. Its upper part depends on rule and scope only, so that the
-- entries of a commit lie together. Warehouse '' and priority 0 mean unknown.
CREATE TABLE notices (
    num        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    type       TEXT    NOT NULL,
    rule       TEXT    NOT NULL,
    status     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    body       BLOB    NOT NULL,
    finding    INTEGER,
    warehouse  TEXT    NOT NULL DEFAULT '',
    priority   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX notices_finding ON notices (finding) WHERE finding IS NOT NULL;
-- Counts and searches read only this index. Separate indexes for rules, types and warehouses would find rare ones
-- sooner, but slow down every commit.
CREATE INDEX notices_created ON notices (created_at, num, rule, type, warehouse, priority);

-- Lanes: sink, warehouse, and the session that drains the lane. Rows are never deleted, because processes cache the
-- ids.
CREATE TABLE lanes (
    id          INTEGER PRIMARY KEY,
    sink        TEXT    NOT NULL,
    warehouse   TEXT    NOT NULL,
    node        TEXT    NOT NULL DEFAULT '',
    lease_until INTEGER NOT NULL DEFAULT 0,
    UNIQUE (sink, warehouse)
) STRICT;

-- Deliveries: one notice on its way to one sink. A seq never comes twice, even after pruning.
--   state       0 pending, 1 sent, 2 failed, 3 timed out, 4 canceled
--   expires_at  when the notice expires; the highest number = the delivery is tried until it succeeds
--   ended_at    when it was sent, or failed
--   tried       the last attempts, one line each, the latest first: start, duration in µs, status of the receiver
--               (0 = none), error. '' = no attempt, or the inbox or a queue took it at the first attempt
CREATE TABLE deliveries (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    notice     INTEGER NOT NULL,
    lane_id    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    recipients TEXT    NOT NULL,
    state      INTEGER NOT NULL DEFAULT 0,
    score      INTEGER NOT NULL DEFAULT 0,
    ended_at   INTEGER NOT NULL DEFAULT 0,
    attempts   INTEGER NOT NULL DEFAULT 0,
    epoch      TEXT    NOT NULL DEFAULT '',
    last_error TEXT    NOT NULL DEFAULT '',
    tried      TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX deliveries_notice ON deliveries (notice);
CREATE INDEX deliveries_pending ON deliveries (lane_id, seq) WHERE state = 0;
CREATE INDEX deliveries_sent ON deliveries (lane_id, score, expires_at) WHERE state = 1;
CREATE INDEX deliveries_ended ON deliveries (lane_id, state, ended_at) WHERE state > 1;

-- What a delivery to a push channel has besides its row in deliveries: its strategy, and when it is due;
-- docs/adr/push-ledger.md. The row stays as long as the delivery.
--   due        when a node may claim it next; the highest number = it waits for an earlier one of the same lane, finding and
--              addressee; null = it has ended
--   until      end of the lease of the claim, 0 = no claim in force; no index has this column, so a claim changes no index
--   first_due  when a node may claim it first
--   deadline   of a timed delivery, 0 = none; ends is the earlier of deadline and the expiry of the delivery
--   token      of the last claim, counts up; node is '' once that claim was settled
--   finding    as in notices; null = not of a finding, so in no order
--   addressee  hash of the subscriber, 0 = one delivery for all recipients
--   forgiven   attempts that the strategy does not count, because an operator retried the delivery after them
--   held       the silence that holds the delivery back; it does so only while due = held_until
CREATE TABLE pushes (
    seq       INTEGER PRIMARY KEY,
    lane_id   INTEGER NOT NULL,
    due       INTEGER,
    until     INTEGER NOT NULL DEFAULT 0,
    first_due INTEGER NOT NULL,
    deadline  INTEGER NOT NULL,
    ends      INTEGER NOT NULL,
    finding   INTEGER,
    addressee INTEGER NOT NULL,
    token     INTEGER NOT NULL DEFAULT 0,
    node      TEXT    NOT NULL DEFAULT '',
    kind      TEXT    NOT NULL,
    delay     INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    within    INTEGER NOT NULL,
    retry     INTEGER NOT NULL,
    forgiven  INTEGER NOT NULL DEFAULT 0,
    unless    TEXT    NOT NULL,
    held      TEXT    NOT NULL DEFAULT '',
    held_until INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX pushes_due ON pushes (lane_id, due, seq) WHERE due IS NOT NULL;
CREATE INDEX pushes_ends ON pushes (lane_id, ends) WHERE due IS NOT NULL;
CREATE INDEX pushes_finding ON pushes (finding, lane_id, addressee, seq) WHERE due IS NOT NULL AND finding IS NOT NULL;
CREATE INDEX pushes_first ON pushes (lane_id, first_due) WHERE due < 9223372036854775807 AND held = '';
CREATE INDEX pushes_held ON pushes (held) WHERE held <> '' AND due IS NOT NULL;
-- A read-all searches these deliveries.
CREATE INDEX pushes_unless_read ON pushes (seq) WHERE due IS NOT NULL AND unless = 'read';

-- The index of each sink in Redis: its epoch, and the session that builds it.
CREATE TABLE inbox_states (
    sink        TEXT    NOT NULL PRIMARY KEY,
    epoch       TEXT    NOT NULL,
    run_ids     TEXT    NOT NULL,
    building    INTEGER NOT NULL,
    node        TEXT    NOT NULL,
    lease_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The branches of nodes, by which they tell this ledger from an older copy; docs/adr/lineage.md. The number of a
-- branch only grows. at is when it grew last.
CREATE TABLE branches (
    branch TEXT    NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL,
    at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE types (
    code       TEXT    NOT NULL PRIMARY KEY,
    numeric_id INTEGER NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    names      TEXT    NOT NULL,
    category   TEXT    NOT NULL,
    retention  INTEGER NOT NULL,
    fields     TEXT    NOT NULL,
    defaults   TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- origin is the source whose query returns the subscription; '' = made by hand.
CREATE TABLE subscriptions (
    type       TEXT NOT NULL REFERENCES types ON DELETE CASCADE,
    warehouse  TEXT NOT NULL,
    subscriber TEXT NOT NULL,
    origin     TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (type, warehouse, subscriber)
) STRICT, WITHOUT ROWID;
CREATE INDEX subscriptions_origin ON subscriptions (origin) WHERE origin <> '';

-- What the queries of sources list: subscriptions (name = the source), and scopes of rules (name = the rule).
--   token        counts the claims
--   question     identifies the query of the last claim
--   asked        time of the last claim
--   settled      0 while the last claim has no answer
--   answered     when the source last returned a list
--   failed       since when the source has returned no list; 0 = the last query returned one
--   waits        the list that waits for an operator, in the form [[type, warehouse, subscriber], …], or of list; '' = none
--   waits_since  since when that list waits
--   list         scopes only: the list in force, [{"name": …, "timezone": …, "params": {…}}, …]; '' = none yet
--   listed       number of scopes in list
CREATE TABLE origins (
    kind        TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    token       INTEGER NOT NULL,
    question    TEXT    NOT NULL DEFAULT '',
    asked       INTEGER NOT NULL,
    settled     INTEGER NOT NULL DEFAULT 0,
    answered    INTEGER NOT NULL DEFAULT 0,
    failed      INTEGER NOT NULL DEFAULT 0,
    error       TEXT    NOT NULL DEFAULT '',
    waits       TEXT    NOT NULL DEFAULT '',
    waits_since INTEGER NOT NULL DEFAULT 0,
    list        TEXT    NOT NULL DEFAULT '',
    listed      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

-- The address book. mail and tags are JSON arrays; channels is a JSON object of addresses by the name of the channel;
-- '' = none. reach has the names of the subscriber's addresses, separated by spaces, such as "jpush mail phone".
-- Commits read it to find whom a sink can reach.
CREATE TABLE subscribers (
    subscriber TEXT NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL,
    language   TEXT NOT NULL,
    mail       TEXT NOT NULL,
    phone      TEXT NOT NULL,
    alias      TEXT NOT NULL,
    tags       TEXT NOT NULL,
    channels   TEXT NOT NULL,
    reach      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Who has read or acked a notice. kind is read or acked; subscriber is a user. expires_at is when the notice expires:
-- the index in Redis needs only the marks of unexpired notices.
CREATE TABLE marks (
    notice_id  TEXT    NOT NULL,
    subscriber TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    warehouse  TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    expires_at INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (notice_id, subscriber, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX marks_live ON marks (expires_at, notice_id, subscriber, kind);
CREATE INDEX marks_at ON marks (at, notice_id, subscriber, kind);

-- Watermarks: a user has read everything in an inbox of a warehouse up to a score of the inbox's clock. at is when
-- the score rose last.
CREATE TABLE reads (
    warehouse  TEXT    NOT NULL,
    subscriber TEXT    NOT NULL,
    inbox      TEXT    NOT NULL,
    score      INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (warehouse, subscriber, inbox)
) STRICT, WITHOUT ROWID;
CREATE INDEX reads_at ON reads (at, warehouse, subscriber, inbox);

-- Work queues and their test twins; docs/adr/queue-ledger.md explains the tables. sink is the sink whose epoch
-- counts. position is that of the last entry of moves that was applied in the epoch.
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

-- Items as pushed; priority, service_order and payload as revised since.
--   until_at   end of the dedupe window, 0 = when the item ends
--   warehouse  '' = none: only callers for all warehouses see the item
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
    warehouse  TEXT    NOT NULL DEFAULT '',
    service_order INTEGER NOT NULL DEFAULT -9223372036854775808, -- in thousandths; this one is none
    UNIQUE (queue_id, id)
) STRICT;
CREATE INDEX items_queue ON items (queue_id, seq);
CREATE INDEX items_key ON items (queue_id, dedupe_key, seq) WHERE dedupe_key <> '';
CREATE INDEX items_window ON items (queue_id, until_at, seq) WHERE until_at > 0;

-- Items that have not ended, in their state after the last recorded move. state is a letter of item.State.Letter.
-- news is the text of the item.Revision that waits for the end of the lease.
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
    news         TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (queue_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX open_items_subject ON open_items (queue_id, subject_hash) WHERE subject_hash <> 0;

-- Items that ended in another state than done. state: m removed, f refused.
CREATE TABLE ended_early (
    queue_id INTEGER NOT NULL,
    state    TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    PRIMARY KEY (queue_id, state, seq)
) STRICT, WITHOUT ROWID;

-- Items that a node withheld after the ledger was restored. An operator has decided about an item if its number of
-- moves is another one by now.
CREATE TABLE withheld_items (
    queue_id INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    moves    INTEGER NOT NULL,
    PRIMARY KEY (queue_id, seq)
) STRICT, WITHOUT ROWID;

-- Traces: a row has the moves of one item that were recorded together, as text; at is the time of the last move.
CREATE TABLE item_moves (
    num   INTEGER PRIMARY KEY,
    seq   INTEGER NOT NULL,
    at    INTEGER NOT NULL,
    moves TEXT    NOT NULL
) STRICT;
CREATE INDEX item_moves_seq ON item_moves (seq);

-- Live settings of queues, which operators changed. lease, and the numbers in suspend_steps (a JSON array), are in
-- µs. Values that mean "as configured": lease 0, max_attempts -1 (0 = no limit), suspend_steps ''. A row stays when
-- all of its values are as configured.
CREATE TABLE queue_settings (
    queue         TEXT    NOT NULL PRIMARY KEY,
    lease         INTEGER NOT NULL,
    max_attempts  INTEGER NOT NULL,
    suspend_steps TEXT    NOT NULL,
    actor         TEXT    NOT NULL,
    at            INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- API tokens. hash is the SHA-256 of the secret, which nobody keeps; id is derived from hash. access, subscribers and
-- warehouses are JSON arrays of texts; '' = none. Times are in µs, 0 = never.
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

-- Switches of rules, which operators set. rule '*' = every rule; scope '*' = all scopes of the rule. state: 0 cleared
-- (the rule's file decides), 1 on, 2 off. until 0 = for good. A cleared or ended switch keeps its row, which tells
-- since when the rule is free again.
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

-- Sessions of nodes: who runs, and with which program and rules; docs/adr/node-sessions.md. Sessions own firings,
-- lanes, deliveries to push channels and the right to rebuild an index. changed is since when the node runs these
-- rules. seen is when the lease (in µs) was renewed last.
CREATE TABLE nodes (
    session TEXT    NOT NULL PRIMARY KEY,
    node    TEXT    NOT NULL,
    program TEXT    NOT NULL,
    rules   TEXT    NOT NULL,
    started INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    seen    INTEGER NOT NULL,
    lease   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Silences and maintenance windows; docs/adr/silences.md. matchers is a JSON array of texts. until_at 0 = for ever,
-- which only a silence with a cron may have. Such a silence is active for duration each time its cron fires, between
-- from_at and until_at. ended_at is when an operator ended the silence; 0 = nobody did. events counts the rows of
-- mode event that the silence dropped.
CREATE TABLE silences (
    id         TEXT    NOT NULL PRIMARY KEY,
    matchers   TEXT    NOT NULL,
    from_at    INTEGER NOT NULL,
    until_at   INTEGER NOT NULL,
    cron       TEXT    NOT NULL,
    timezone   TEXT    NOT NULL,
    duration   INTEGER NOT NULL,
    comment    TEXT    NOT NULL,
    author     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    ended_at   INTEGER NOT NULL DEFAULT 0,
    ended_by   TEXT    NOT NULL DEFAULT '',
    events     INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- Audit records: who changed what, and when. at is in µs. before and after are JSON; null = nothing.
CREATE TABLE audit (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    at     INTEGER NOT NULL,
    actor  TEXT    NOT NULL,
    via    TEXT    NOT NULL,
    action TEXT    NOT NULL,
    object TEXT    NOT NULL,
    before TEXT,
    after  TEXT,
    reason TEXT    NOT NULL
) STRICT;
CREATE INDEX audit_object ON audit (object, seq);

-- Nobody changes or removes an audit record. To remove one, the trigger must be dropped first.
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'audit records are never changed or removed'); END;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'audit records are never changed or removed'); END;
-- INSERT OR REPLACE removes a row without the trigger above.
CREATE TRIGGER audit_no_replace BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'audit records are never changed or removed'); END;

-- The sequence of versions of the rule files that came into force. place counts from 1; version is a hash of the
-- rules in force. A node that takes a version in force checks here whether it is recorded already.
CREATE TABLE rule_versions (
    place   INTEGER PRIMARY KEY,
    version TEXT NOT NULL
) STRICT;

-- Samples for charts; docs/adr/samples.md. A row covers a minute, ten minutes or an hour: step and start are in µs.
-- taken is the number of measured moments. figures is JSON by warehouse and type; '' = a node has claimed the sample
-- and not recorded it yet.
CREATE TABLE samples (
    step    INTEGER NOT NULL,
    start   INTEGER NOT NULL,
    taken   INTEGER NOT NULL,
    figures TEXT    NOT NULL,
    PRIMARY KEY (step, start)
) STRICT, WITHOUT ROWID;

-- Numbers of the whole ledger. types_version grows with every change of a type. subscribed is 1 once there was a
-- subscription. token and notice are the last numbers given out. restored is when a node found that the ledger had
-- been restored, in µs.
CREATE TABLE ledger_numbers (
    name  TEXT    NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO ledger_numbers VALUES
    ('types_version', 0), ('subscribed', 0), ('token', 0), ('notice', 0), ('item', 0), ('tokens', 0), ('switches', 0), ('silences', 0), ('queue_settings', 0), ('scope_lists', 0), ('rules', 0),
    ('restored', 0);

-- The oldest version of the schema whose program may use this ledger, in one row; docs/adr/migrations.md.
CREATE TABLE schema_oldest (
    version INTEGER NOT NULL
) STRICT;
INSERT INTO schema_oldest VALUES (100);
-- +goose StatementEnd
