-- phase: expand
-- locks: nothing that a node uses, because the tables are new
-- lasts: under 1 s
--
-- Texts that are compared or sorted are COLLATE "C": bytewise, so that order and speed do not depend on the locale of
-- the database. Times are µs since 1970, 0 = never.

-- +goose Up
-- The migration is one statement for goose. Otherwise goose searches each line for the end of a statement, which
-- takes longer than creating the tables.
-- +goose StatementBegin

-- The clock by which leases and expiry are judged: the given time (tests), or else the server's.
CREATE FUNCTION ledger_now(given bigint) RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT coalesce(given, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) $$;

-- Puts the line of an attempt before the earlier attempts of a delivery, and keeps 20 lines. It is STABLE, as
-- array_to_string is, so that the server can inline it.
CREATE FUNCTION ledger_tried(line text, before text) RETURNS text LANGUAGE sql STABLE AS
$$ SELECT array_to_string((string_to_array(line || before, E'\n'))[1:20], E'\n') $$;

-- The state of the ledger's clock, in one row; docs/adr/clock-terms.md.
--   began_at  when the term began, by its clock; back is how far the clock went back then
--   withheld  how far the clock is ahead of the time that nodes use, since withheld_at
--   seen      the latest time of the term that nodes have seen
CREATE TABLE clock (
    term        bigint NOT NULL,
    began_at    bigint NOT NULL,
    back        bigint NOT NULL,
    withheld    bigint NOT NULL,
    withheld_at bigint NOT NULL,
    seen        bigint NOT NULL
) WITH (fillfactor = 10);
INSERT INTO clock VALUES (0, 0, 0, 0, 0, 0);

-- Fences commits. All rules share one sequence, so that no token comes twice, even when a rule is removed and
-- returns.
CREATE SEQUENCE ledger_token;

-- A rule in a scope: its state between runs, and its claim.
--   running_due   due time of the claimed firing until it is done; a lease in the past means that it was abandoned
--   term          the clock term of done_due; running_term is that of running_due
--   promoted_at   since when a rule in shadow is live in the scope; 0 = it is not
--   thawed_due    the last firing that fell into the time when the rule was disabled; this time does not count for the
--                 rule's findings
--   unwell_since  due time of the first run since which every run was degraded or failed; 0 = the last run was ok
--   back          where resolutions go if the rule is removed (JSON), from the last run; '' = nobody is told
CREATE TABLE rule_scopes (
    id            integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    rule          text COLLATE "C" NOT NULL,
    scope         text COLLATE "C" NOT NULL,
    registered_at bigint NOT NULL,
    last_due      bigint NOT NULL DEFAULT 0,
    last_ok_due   bigint NOT NULL DEFAULT 0,
    clock         bigint NOT NULL DEFAULT 0,
    term          bigint NOT NULL DEFAULT 0,
    done_due      bigint NOT NULL DEFAULT 0,
    unwell_since  bigint NOT NULL DEFAULT 0,
    watermark     text   NOT NULL DEFAULT '',
    initial       text   NOT NULL DEFAULT '',
    token         bigint NOT NULL DEFAULT 0,
    running_term  bigint NOT NULL DEFAULT 0,
    running_due   bigint,
    running_node  text   NOT NULL DEFAULT '',
    repeated      boolean NOT NULL DEFAULT false,
    lease_until   bigint NOT NULL DEFAULT 0,
    promoted_at   bigint NOT NULL DEFAULT 0,
    promoted_by   text   NOT NULL DEFAULT '',
    thawed_due    bigint NOT NULL DEFAULT 0,
    back          text   NOT NULL DEFAULT '',
    UNIQUE (rule, scope)
) WITH (fillfactor = 50);

-- Rules that read again below their watermarks. read_from is the position behind which the next scan begins. read_at
-- is when the last scan that read all rows began.
CREATE TABLE look_backs (
    scope_id  integer PRIMARY KEY,
    read_from text   NOT NULL,
    read_at   bigint NOT NULL
) WITH (fillfactor = 50);

-- Rows that such a rule has seen and may read again, in portions: 16 bytes for each row.
CREATE TABLE seen_rows (
    scope_id integer NOT NULL,
    n        bigint  NOT NULL,
    seen_at  bigint  NOT NULL,
    position text    NOT NULL,
    backlog  boolean NOT NULL,
    identity text    NOT NULL,
    hashes   bytea   NOT NULL,
    PRIMARY KEY (scope_id, n)
);
ALTER TABLE seen_rows ALTER COLUMN hashes SET STORAGE EXTERNAL;

-- The last record of runs of each rule and scope; earlier records are in past_firings. A record has one run, or
-- several consecutive runs with the same result and no notices. due is the due time of the first run. All other
-- columns describe the last run, which was due at last_due. runs is their number. earlier has the runs before the
-- last, in the form of the statement commit-quiet. token and answer let the ledger recognize a repeated commit. A
-- record outlives its rule_scope.
CREATE TABLE firings (
    rule         text COLLATE "C" NOT NULL,
    scope        text COLLATE "C" NOT NULL,
    term         bigint NOT NULL DEFAULT 0,
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
    strays       bigint NOT NULL DEFAULT 0,
    error        text   NOT NULL,
    samples      text   NOT NULL,
    last_due     bigint NOT NULL,
    runs         integer NOT NULL DEFAULT 1,
    earlier      text   NOT NULL DEFAULT '',
    PRIMARY KEY (rule, scope, term, due)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
-- Earlier records, in partitions of days; docs/adr/ledger-partitions.md. all_firings has both, for reading the
-- history.
CREATE TABLE past_firings (LIKE firings INCLUDING DEFAULTS, PRIMARY KEY (rule, scope, term, last_due)) PARTITION BY RANGE (last_due);
CREATE TABLE past_firings_rest PARTITION OF past_firings DEFAULT;
-- Finds runs that failed. The table firings has no such index, because each run would have to write its entries
-- again.
CREATE INDEX past_firings_failed ON past_firings (last_due) WHERE outcome = 'failed';
CREATE VIEW all_firings AS SELECT * FROM firings UNION ALL SELECT * FROM past_firings;

-- Open findings. The primary key has a hash, because a key may be longer than an index entry.
--   last_row   the row, as JSON, that changed the finding last, in the run due at row_due; null = none recorded
--   silenced   the silences that held back the notice of the last run, separated by spaces
--   watched    stands for the columns of notify_again_on and their values in the last notice
--   baseline   the first run took all rows as known, including this one, and no notice has reported the finding since
--   warehouse  of the finding's notice; '' = no notice
--   term       the clock term of the episode
CREATE TABLE findings (
    scope_id      integer  NOT NULL,
    key_hash      uuid     NOT NULL,
    phase         smallint NOT NULL,
    priority      smallint NOT NULL,
    ordinal       integer  NOT NULL,
    episode       bigint   NOT NULL,
    since_clock   bigint   NOT NULL,
    absent_since  bigint   NOT NULL,
    firing_since  bigint   NOT NULL,
    last_notified bigint   NOT NULL,
    key           text     NOT NULL,
    notice_id     text COLLATE "C" NOT NULL,
    group_key     text     NOT NULL DEFAULT '',
    last_row      bytea,
    row_due       bigint   NOT NULL DEFAULT 0,
    silenced      text     NOT NULL DEFAULT '',
    watched       text     NOT NULL DEFAULT '',
    baseline      boolean  NOT NULL DEFAULT false,
    warehouse     text COLLATE "C" NOT NULL DEFAULT '',
    term          bigint   NOT NULL DEFAULT 0,
    PRIMARY KEY (scope_id, key_hash)
) WITH (fillfactor = 90);
CREATE INDEX findings_silenced ON findings (silenced) WHERE silenced <> '';

-- The plan by which a source would run the probe of a rule in a scope, and the previous plan with another shape
-- (before_until 0 = none).
CREATE TABLE probe_plans (
    rule         text COLLATE "C" NOT NULL,
    scope        text COLLATE "C" NOT NULL,
    checksum     text   NOT NULL,
    cost         double precision NOT NULL,
    shape        text   NOT NULL,
    asked_at     bigint NOT NULL,
    before_cost  double precision NOT NULL,
    before_shape text   NOT NULL,
    before_until bigint NOT NULL,
    PRIMARY KEY (rule, scope)
);

-- Notices. The deliveries of a notice lie between first_seq and last_seq (0 = none), which saves an index on
-- deliveries. finding is a hash of rule, scope and key. Its upper part depends on rule and scope only, so that the
-- entries of a commit lie together. Warehouse '' and priority 0 mean unknown.
--
-- Partitions (docs/adr/ledger-partitions.md): one for each day that ids name, made ahead and dropped as a whole;
-- notices_keyed for ids that name no day; notices_rest for notices that outlive their day. Rows of the last two are
-- pruned one by one.
CREATE TABLE notices (
    id         text COLLATE "C" PRIMARY KEY,
    type       text     NOT NULL,
    rule       text     NOT NULL,
    status     text     NOT NULL,
    created_at bigint   NOT NULL,
    expires_at bigint   NOT NULL,
    first_seq  bigint   NOT NULL,
    last_seq   bigint   NOT NULL,
    body       bytea    NOT NULL,
    finding    bigint,
    warehouse  text COLLATE "C" NOT NULL DEFAULT '',
    priority   smallint NOT NULL DEFAULT 0
) PARTITION BY RANGE (id);
-- A body is a few hundred bytes that do not compress well; trying costs time.
ALTER TABLE notices ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX notices_finding ON notices (finding) WHERE finding IS NOT NULL;
-- Notices of one commit have the same created_at, and ascending numbers. Counts and searches read only this index.
-- Separate indexes for rules, types and warehouses would find rare ones sooner, but slow down every commit by a
-- third.
CREATE INDEX notices_created ON notices (created_at, first_seq) INCLUDE (id, rule, type, warehouse, priority);
-- The few notices that live longer than a week and so may outlive their partition.
CREATE INDEX notices_lasting ON notices (expires_at) WHERE expires_at - created_at > 604800000000;
CREATE TABLE notices_keyed PARTITION OF notices FOR VALUES FROM ('n_z') TO (MAXVALUE);
CREATE TABLE notices_rest PARTITION OF notices DEFAULT;

-- Notices by id. The server would plan a join with the table itself for all partitions, but the given ids lead to a
-- few only.
CREATE FUNCTION ledger_notices(ids text[]) RETURNS SETOF notices LANGUAGE plpgsql STABLE ROWS 100 AS
$$ BEGIN RETURN QUERY SELECT * FROM notices n WHERE n.id = ANY (ids); END $$;
-- The bodies of notices in the order of the ids, for statements that run after by-key.
CREATE FUNCTION ledger_bodies(ids text[]) RETURNS bytea[] LANGUAGE sql STABLE SET enable_hashjoin = on AS
$$ SELECT array_agg(n.body ORDER BY w.place) FROM unnest(ids) WITH ORDINALITY AS w (id, place) LEFT JOIN ledger_notices(ids) n ON n.id = w.id $$;
-- Notices of findings whose ids name a day in the range from since to before until, or whose ids do not begin with a
-- digit. The ids of days up to 2036 begin with a digit.
CREATE FUNCTION ledger_notices_of_findings(findings bigint[], since text, until text) RETURNS SETOF notices LANGUAGE plpgsql STABLE ROWS 100 AS
$$ BEGIN
    RETURN QUERY SELECT * FROM notices n
    WHERE n.finding = ANY (findings) AND (n.id < 'n_2' OR n.id >= since AND n.id < until OR n.id >= 'n_8');
END $$;

-- Lanes: sink, warehouse, and the session that drains the lane. Rows are never deleted, because processes cache the
-- ids.
CREATE TABLE lanes (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sink        text COLLATE "C" NOT NULL,
    warehouse   text COLLATE "C" NOT NULL,
    node        text   NOT NULL DEFAULT '',
    lease_until bigint NOT NULL DEFAULT 0,
    UNIQUE (sink, warehouse)
) WITH (fillfactor = 50);

-- Deliveries: one notice on its way to one sink.
--   state       0 pending, 1 sent, 2 failed, 3 timed out, 4 canceled
--   expires_at  when the notice expires, copied so that a search for unexpired ones needs no join; the highest
--               number = the delivery is tried until it succeeds
--   ended_at    when it was sent, or failed
--   tried       the last attempts, one line each, the latest first: start, duration in µs, status of the receiver
--               (0 = none), error. '' = no attempt, or the inbox or a queue took it at the first attempt
--   kind …      strategy of a sent delivery to a push channel, for operators; other deliveries have theirs in pushes;
--               null = not sent, or not to a push channel
--
-- Partitions (docs/adr/ledger-partitions.md): deliveries_open has the pending deliveries of all days. A delivery that
-- ends moves to the partition that corresponds to its notice's, and is dropped with it.
CREATE SEQUENCE deliveries_seq;
CREATE TABLE deliveries (
    seq        bigint   NOT NULL,
    expires_at bigint   NOT NULL,
    score      bigint   NOT NULL DEFAULT 0,
    ended_at   bigint   NOT NULL DEFAULT 0,
    lane_id    integer  NOT NULL,
    attempts   integer  NOT NULL DEFAULT 0,
    state      smallint NOT NULL DEFAULT 0,
    notice_id  text COLLATE "C" NOT NULL,
    recipients text     NOT NULL DEFAULT '',
    epoch      text     NOT NULL DEFAULT '',
    last_error text     NOT NULL DEFAULT '',
    tried      text     NOT NULL DEFAULT '',
    kind       text,
    unless     text,
    delay      bigint,
    at         bigint,
    within     bigint,
    retry      integer,
    deadline   bigint
) PARTITION BY LIST (state);
CREATE TABLE deliveries_open PARTITION OF deliveries (PRIMARY KEY (seq)) FOR VALUES IN (0)
    WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX deliveries_pending ON deliveries_open (lane_id, seq);
-- Deliveries that outlive their notices.
CREATE INDEX deliveries_lasting ON deliveries_open (notice_id) WHERE expires_at = 9223372036854775807;
CREATE TABLE deliveries_ended PARTITION OF deliveries FOR VALUES IN (1, 2, 3, 4) PARTITION BY RANGE (notice_id);
CREATE INDEX deliveries_number ON deliveries_ended (seq);
CREATE INDEX deliveries_sent ON deliveries_ended (lane_id, score) INCLUDE (expires_at) WHERE state = 1;
CREATE INDEX deliveries_failed ON deliveries_ended (lane_id, state) INCLUDE (ended_at) WHERE state > 1;
CREATE TABLE deliveries_keyed PARTITION OF deliveries_ended FOR VALUES FROM ('n_z') TO (MAXVALUE);
CREATE TABLE deliveries_rest PARTITION OF deliveries_ended DEFAULT;

-- Deliveries of notices, and deliveries by number; see ledger_notices. An ended delivery is searched by number in all
-- partitions.
CREATE FUNCTION ledger_deliveries_of(ids text[]) RETURNS SETOF deliveries LANGUAGE plpgsql STABLE ROWS 100 AS
$$ DECLARE seqs bigint[] := ARRAY(SELECT generate_series(n.first_seq, n.last_seq) FROM notices n WHERE n.id = ANY (ids) AND n.first_seq > 0);
BEGIN RETURN QUERY SELECT * FROM deliveries d WHERE d.seq = ANY (seqs) AND d.notice_id = ANY (ids); END $$;
CREATE FUNCTION ledger_deliveries(seqs bigint[]) RETURNS SETOF deliveries LANGUAGE plpgsql STABLE ROWS 100 AS
$$ BEGIN RETURN QUERY SELECT * FROM deliveries d WHERE d.seq = ANY (seqs); END $$;

-- Makes deliveries pending again that ended while an attempt was running. Usually there are none; then the server
-- makes no plan for all partitions.
CREATE FUNCTION ledger_reopen(seqs bigint[]) RETURNS void LANGUAGE plpgsql AS
$$ BEGIN
    IF cardinality(seqs) > 0 THEN UPDATE deliveries SET state = 0 WHERE seq = ANY (seqs) AND state > 1; END IF;
END $$;

-- What a delivery to a push channel has besides its row in deliveries: its strategy, and when it is due;
-- docs/adr/push-ledger.md. The row is deleted when the delivery was sent.
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
    seq        bigint  NOT NULL PRIMARY KEY,
    due        bigint,
    until      bigint  NOT NULL DEFAULT 0,
    first_due  bigint  NOT NULL,
    deadline   bigint  NOT NULL,
    ends       bigint  NOT NULL,
    finding    bigint,
    addressee  bigint  NOT NULL,
    token      bigint  NOT NULL DEFAULT 0,
    delay      bigint  NOT NULL,
    at         bigint  NOT NULL,
    within     bigint  NOT NULL,
    lane_id    integer NOT NULL,
    retry      integer NOT NULL,
    forgiven   integer NOT NULL DEFAULT 0,
    kind       text    NOT NULL,
    unless     text    NOT NULL,
    node       text    NOT NULL DEFAULT '',
    held       text    NOT NULL DEFAULT '',
    held_until bigint  NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX pushes_due ON pushes (lane_id, due, seq) WHERE due IS NOT NULL;
CREATE INDEX pushes_ends ON pushes (lane_id, ends) WHERE due IS NOT NULL;
CREATE INDEX pushes_finding ON pushes (finding, lane_id, addressee, seq) WHERE due IS NOT NULL AND finding IS NOT NULL;
CREATE INDEX pushes_first ON pushes (lane_id, first_due) WHERE due < 9223372036854775807 AND held = '';
CREATE INDEX pushes_held ON pushes (held) WHERE held <> '' AND due IS NOT NULL;
-- A read-all searches these deliveries.
CREATE INDEX pushes_unless_read ON pushes (seq) WHERE due IS NOT NULL AND unless = 'read';

-- The index of each sink in Redis: its epoch, and the session that builds it.
CREATE TABLE inbox_states (
    sink        text COLLATE "C" PRIMARY KEY,
    epoch       text    NOT NULL,
    run_ids     text    NOT NULL,
    building    boolean NOT NULL,
    node        text    NOT NULL,
    lease_until bigint  NOT NULL
);

-- The branches of nodes, by which they tell this ledger from an older copy; docs/adr/lineage.md. The number of a
-- branch only grows. at is when it grew last.
CREATE TABLE branches (
    branch text COLLATE "C" PRIMARY KEY,
    number bigint NOT NULL,
    at     bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE types (
    code       text COLLATE "C" PRIMARY KEY,
    numeric_id bigint NOT NULL UNIQUE,
    name       text   NOT NULL,
    names      text   NOT NULL,
    category   text   NOT NULL,
    retention  bigint NOT NULL,
    fields     text   NOT NULL,
    defaults   text   NOT NULL
);

-- origin is the source whose query returns the subscription; '' = made by hand.
CREATE TABLE subscriptions (
    type       text COLLATE "C" NOT NULL REFERENCES types ON DELETE CASCADE,
    warehouse  text COLLATE "C" NOT NULL,
    subscriber text COLLATE "C" NOT NULL,
    origin     text COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (type, warehouse, subscriber)
);
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
    kind        text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    token       bigint NOT NULL,
    question    text   NOT NULL DEFAULT '',
    asked       bigint NOT NULL,
    settled     smallint NOT NULL DEFAULT 0,
    answered    bigint NOT NULL DEFAULT 0,
    failed      bigint NOT NULL DEFAULT 0,
    error       text   NOT NULL DEFAULT '',
    waits       text   NOT NULL DEFAULT '',
    waits_since bigint NOT NULL DEFAULT 0,
    list        text   NOT NULL DEFAULT '',
    listed      bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, name)
);

-- The address book. mail and tags are JSON arrays; channels is a JSON object of addresses by the name of the channel;
-- '' = none. reach has the names of the subscriber's addresses, separated by spaces, such as "jpush mail phone".
-- Commits read it to find whom a sink can reach.
CREATE TABLE subscribers (
    subscriber text COLLATE "C" PRIMARY KEY,
    name       text NOT NULL,
    language   text NOT NULL,
    mail       text NOT NULL,
    phone      text NOT NULL,
    alias      text NOT NULL,
    tags       text NOT NULL,
    channels   text NOT NULL,
    reach      text NOT NULL
);

-- Who has read or acked a notice. kind is read or acked; subscriber is a user. expires_at is when the notice expires:
-- the index in Redis needs only the marks of unexpired notices.
CREATE TABLE marks (
    notice_id  text COLLATE "C" NOT NULL,
    subscriber text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    warehouse  text   NOT NULL,
    at         bigint NOT NULL,
    expires_at bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (notice_id, subscriber, kind)
);
CREATE INDEX marks_live ON marks (expires_at, notice_id, subscriber, kind);
CREATE INDEX marks_at ON marks (at, notice_id, subscriber, kind);

-- Watermarks: a user has read everything in an inbox of a warehouse up to a score of the inbox's clock. at is when
-- the score rose last.
CREATE TABLE reads (
    warehouse  text COLLATE "C" NOT NULL,
    subscriber text COLLATE "C" NOT NULL,
    inbox      text COLLATE "C" NOT NULL,
    score      bigint NOT NULL,
    at         bigint NOT NULL,
    PRIMARY KEY (warehouse, subscriber, inbox)
);
CREATE INDEX reads_at ON reads (at, warehouse, subscriber, inbox);

-- Work queues and their test twins; docs/adr/queue-ledger.md explains the tables. Rows are never deleted, because
-- processes cache the ids. sink is the sink whose epoch counts. position is that of the last entry of moves that was
-- applied in the epoch.
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

-- Items as pushed; priority, service_order and payload as revised since.
--   until_at       end of the dedupe window, 0 = when the item ends
--   warehouse      '' = none: only callers for all warehouses see the item
--   service_order  in thousandths; the default means no order
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
    warehouse  text     NOT NULL DEFAULT '',
    service_order bigint NOT NULL DEFAULT -9223372036854775808,
    PRIMARY KEY (queue_id, seq),
    UNIQUE (queue_id, id)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);
-- A payload is a few hundred bytes that hardly compress; trying costs time.
ALTER TABLE items ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE INDEX items_key ON items (queue_id, dedupe_key, seq) WHERE dedupe_key <> '';
CREATE INDEX items_window ON items (queue_id, until_at, seq) WHERE until_at > 0;

-- Items that have not ended, in their state after the last recorded move. state is a letter of item.State.Letter.
-- news is the text of the item.Revision that waits for the end of the lease.
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
    news         text     NOT NULL DEFAULT '',
    PRIMARY KEY (queue_id, seq)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX open_items_subject ON open_items (queue_id, subject_hash) WHERE subject_hash <> 0;

-- Items that ended in another state than done. state: m removed, f refused.
CREATE TABLE ended_early (
    seq      bigint  NOT NULL,
    queue_id integer NOT NULL,
    state    text COLLATE "C" NOT NULL,
    PRIMARY KEY (queue_id, state, seq)
);

-- Items that a node withheld after the ledger was restored. An operator has decided about an item if its number of
-- moves is another one by now.
CREATE TABLE withheld_items (
    queue_id integer NOT NULL,
    seq      bigint NOT NULL,
    moves    bigint NOT NULL,
    PRIMARY KEY (queue_id, seq)
);

-- Traces: a row has the moves of one item that were recorded together, as text; at is the time of the last move. All
-- moves of an item are in one partition, which is that of its seq; docs/adr/ledger-partitions.md.
CREATE TABLE item_moves (
    seq   bigint NOT NULL,
    at    bigint NOT NULL,
    moves text   NOT NULL
) PARTITION BY RANGE (seq);
CREATE INDEX item_moves_seq ON item_moves (seq);
CREATE TABLE item_moves_rest PARTITION OF item_moves DEFAULT WITH (autovacuum_vacuum_insert_scale_factor = 0.05);

-- Makes, detaches or drops the partition of a day of a table; docs/adr/ledger-partitions.md. PostgreSQL lets only the
-- owner of a table do so. The function therefore runs as the owner, and the role of the nodes needs no right to change
-- the schema. Its search_path keeps tables and types of other users out.
--   action     make, detach or drop
--   parent     the partitioned table
--   day        as YYYYMMDD
--   low, high  the bounds of a partition to make
CREATE FUNCTION ledger_day(action text, parent text, day text, low text, high text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS
$$ DECLARE part text := parent || '_' || day;
BEGIN
    IF parent NOT IN ('notices', 'deliveries_ended', 'past_firings', 'item_moves') OR day !~ '^[0-9]{8}$' THEN
        RAISE EXCEPTION 'table % has no partition of a day %', parent, day;
    END IF;
    CASE action
    WHEN 'make' THEN
        EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L) WITH (autovacuum_vacuum_insert_scale_factor = 0.05)', part, parent, low, high);
    WHEN 'detach' THEN
        EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', parent, part);
    WHEN 'drop' THEN
        EXECUTE format('DROP TABLE %I', part);
    END CASE;
END $$;
DO $$ BEGIN EXECUTE format('ALTER FUNCTION ledger_day SET search_path = %I, pg_catalog, pg_temp', current_schema()); END $$;
REVOKE EXECUTE ON FUNCTION ledger_day FROM PUBLIC;

-- Live settings of queues, which operators changed. lease, and the numbers in suspend_steps (a JSON array), are in
-- µs. Values that mean "as configured": lease 0, max_attempts -1 (0 = no limit), suspend_steps ''. A row stays when
-- all of its values are as configured.
CREATE TABLE queue_settings (
    queue         text COLLATE "C" NOT NULL PRIMARY KEY,
    lease         bigint  NOT NULL,
    max_attempts  bigint  NOT NULL,
    suspend_steps text    NOT NULL,
    actor         text    NOT NULL,
    at            bigint  NOT NULL
);

-- API tokens. hash is the SHA-256 of the secret, which nobody keeps; id is derived from hash. access, subscribers and
-- warehouses are JSON arrays of texts; '' = none. Times are in µs, 0 = never.
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

-- Switches of rules, which operators set. rule '*' = every rule; scope '*' = all scopes of the rule. state: 0 cleared
-- (the rule's file decides), 1 on, 2 off. until 0 = for good. A cleared or ended switch keeps its row, which tells
-- since when the rule is free again.
CREATE TABLE switches (
    rule   text COLLATE "C" NOT NULL,
    scope  text COLLATE "C" NOT NULL,
    state  smallint NOT NULL,
    until  bigint   NOT NULL,
    at     bigint   NOT NULL,
    reason text     NOT NULL,
    actor  text     NOT NULL,
    PRIMARY KEY (rule, scope)
);

-- Sessions of nodes: who runs, and with which program and rules; docs/adr/node-sessions.md. Sessions own firings,
-- lanes, deliveries to push channels and the right to rebuild an index. changed is since when the node runs these
-- rules. seen is when the lease (in µs) was renewed last.
CREATE TABLE nodes (
    session text COLLATE "C" PRIMARY KEY,
    node    text   NOT NULL,
    program text   NOT NULL,
    rules   text   NOT NULL,
    started bigint NOT NULL,
    changed bigint NOT NULL,
    seen    bigint NOT NULL,
    lease   bigint NOT NULL
) WITH (fillfactor = 10);

-- Silences and maintenance windows; docs/adr/silences.md. matchers is a JSON array of texts. until_at 0 = for ever,
-- which only a silence with a cron may have. Such a silence is active for duration each time its cron fires, between
-- from_at and until_at. ended_at is when an operator ended the silence; 0 = nobody did. events counts the rows of
-- mode event that the silence dropped.
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

-- Audit records: who changed what, and when. at is in µs. before and after are JSON; null = nothing.
CREATE TABLE audit (
    seq    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at     bigint NOT NULL,
    actor  text   NOT NULL,
    via    text   NOT NULL,
    action text   NOT NULL,
    object text COLLATE "C" NOT NULL,
    before text,
    after  text,
    reason text   NOT NULL
);
CREATE INDEX audit_object ON audit (object, seq);

-- Nobody changes or removes an audit record. To remove one, the owner of the table must first drop the trigger.
CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'audit records are never changed or removed'; END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse();

-- The sequence of versions of the rule files that came into force. place counts from 1; version is a hash of the
-- rules in force. A node that takes a version in force checks here whether another node has recorded it already.
CREATE TABLE rule_versions (
    place   bigint PRIMARY KEY,
    version text COLLATE "C" NOT NULL
);

-- Samples for charts; docs/adr/samples.md. A row covers a minute, ten minutes or an hour: step and start are in µs.
-- taken is the number of measured moments. figures is JSON by warehouse and type; '' = a node has claimed the sample
-- and not recorded it yet.
CREATE TABLE samples (
    step    bigint  NOT NULL,
    start   bigint  NOT NULL,
    taken   integer NOT NULL,
    figures text    NOT NULL,
    PRIMARY KEY (step, start)
);

-- Numbers of the whole ledger. types_version grows with every change of a type. subscribed is 1 once there was a
-- subscription. restored is when a node found that the ledger had been restored, in µs.
CREATE TABLE ledger_numbers (
    name  text COLLATE "C" PRIMARY KEY,
    value bigint NOT NULL
);
INSERT INTO ledger_numbers VALUES
    ('types_version', 0), ('subscribed', 0), ('tokens', 0), ('switches', 0), ('silences', 0), ('queue_settings', 0), ('scope_lists', 0), ('rules', 0), ('restored', 0);

-- The oldest version of the schema whose program may use this ledger, in one row; docs/adr/migrations.md.
CREATE TABLE schema_oldest (
    version bigint NOT NULL
);
INSERT INTO schema_oldest VALUES (100);
-- +goose StatementEnd
