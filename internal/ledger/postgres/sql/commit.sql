-- The transaction that commits a run.

-- name: fence
-- Locks the rule and scope for the rest of the transaction.
-- Arguments: $1 rule, $2 scope.
-- Result: id, token, the due time of the running firing (0 = none runs).
SELECT id, token, coalesce(running_due, 0) FROM rule_scopes WHERE rule = $1 AND scope = $2 FOR NO KEY UPDATE;

-- name: last-answer
-- Arguments: $1 rule, $2 scope, $3 due, $4 token, $5 clock term.
-- Result: the answer to the last commit of that firing under that token; no row if there was no commit.
SELECT f.answer
FROM (SELECT answer, token, last_due FROM firings WHERE rule = $1 AND scope = $2 AND term = $5 AND due <= $3 ORDER BY due DESC LIMIT 1) AS f
WHERE f.token = $4 AND f.last_due = $3;

-- name: past-answer
-- As last-answer, for firings whose record has moved to past_firings.
SELECT answer FROM past_firings WHERE rule = $1 AND scope = $2 AND term = $5 AND last_due = $3 AND token = $4;

-- name: existing-notices
-- Arguments: $1 ids.
-- Result: the ids of the existing notices.
SELECT id FROM notices WHERE id = ANY($1::text[]);

-- name: recipients
-- Arguments: $1 types, $2 warehouses, $3 names of the addresses that subscribers must have, '' = none; all of the
-- same length.
-- Result: position (from 1), and the subscribers, sorted and separated by spaces; no row for a position without
-- subscribers.
SELECT a.n, string_agg(DISTINCT s.subscriber, ' ' ORDER BY s.subscriber)
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS a (type, warehouse, address, n)
JOIN subscriptions s ON s.type = a.type COLLATE "C" AND s.warehouse IN (a.warehouse COLLATE "C", '*')
WHERE a.address = ''
   OR EXISTS (SELECT FROM subscribers b WHERE b.subscriber = s.subscriber AND a.address = ANY (string_to_array(b.reach, ' ')))
GROUP BY a.n;

-- name: having-addresses
-- Arguments: $1 subscribers, $2 names of addresses, all of the same length.
-- Result: the subscribers that have the address, with its name.
SELECT b.subscriber, w.address
FROM unnest($1::text[], $2::text[]) AS w (subscriber, address)
JOIN subscribers b ON b.subscriber = w.subscriber COLLATE "C" AND w.address = ANY (string_to_array(b.reach, ' '));

-- name: told
-- Where notices went.
-- Arguments: $1 ids.
-- Result: id, sink, warehouse, recipients, whether the notice was sent there or is on its way.
SELECT d.notice_id, l.sink, l.warehouse, d.recipients, d.state IN (0, 1)
FROM ledger_deliveries_of($1::text[]) d
JOIN lanes l ON l.id = d.lane_id;

-- name: lock-findings
-- Locks the open deliveries of findings. A transaction that ends one of these then waits for the commit and sees what
-- the commit adds.
-- Arguments: $1 numbers of findings, $2 ids of notices whose findings are over, $3 and $4 the lowest and the highest
-- number of a finding of the rule in the scope.
-- Result: the number of locked rows.
WITH concerned AS MATERIALIZED (
    SELECT n.finding FROM notices n
    WHERE n.id = ANY($2::text[])
      AND EXISTS (SELECT FROM pushes p WHERE p.due IS NOT NULL AND p.finding BETWEEN $3 AND $4)
    UNION SELECT unnest($1::bigint[]))
SELECT count(*)
FROM (SELECT p.seq FROM pushes p
      WHERE p.seq = ANY (ARRAY(SELECT o.seq FROM concerned c JOIN pushes o ON o.finding = c.finding AND o.due IS NOT NULL))
      ORDER BY p.seq FOR UPDATE) AS locked;

-- name: by-hash
-- Comes after by-key: joins may use hashes again. It is for statements that look rows up in subqueries, and so do not
-- need all of by-key.
SELECT set_config('enable_hashjoin', 'on', true);

-- name: open-pushes
-- The open deliveries of findings. It is a statement of its own after lock-findings, so that it sees what
-- lock-findings waited for. A delivery that a node has claimed and not settled counts as tried, because its
-- recipients may have received it.
-- Arguments: as in lock-findings; $5 ids of retracted firing notices.
-- Result: the columns of codec.OpenPush, in the order of seq, and the body of a firing notice that may be an earlier
-- one of the same episodes.
WITH concerned AS MATERIALIZED (
    SELECT c.finding, bool_or(c.over) AS over
    FROM (SELECT n.finding, true AS over FROM notices n
          WHERE n.id = ANY($2::text[])
            AND EXISTS (SELECT FROM pushes p WHERE p.due IS NOT NULL AND p.finding BETWEEN $3 AND $4)
          UNION ALL SELECT unnest($1::bigint[]), false) AS c
    GROUP BY c.finding),
open AS MATERIALIZED (
    SELECT p.seq, p.finding, p.addressee, l.sink, p.unless, d.attempts > 0 OR p.node <> '' AS tried, c.over, d.notice_id, d.recipients
    FROM concerned c
    CROSS JOIN LATERAL (SELECT * FROM pushes p WHERE p.finding = c.finding AND p.due IS NOT NULL OFFSET 0) AS p
    CROSS JOIN LATERAL (SELECT * FROM deliveries d WHERE d.seq = p.seq AND d.state <= 0 OFFSET 0) AS d
    JOIN lanes l ON l.id = p.lane_id)
SELECT o.seq, o.finding, o.addressee, o.sink, o.unless, o.tried, o.over, n.id, o.recipients,
       CASE WHEN n.status = 'firing' AND cardinality($5::text[]) > 0 AND n.id <> ALL ($5::text[]) THEN n.body END
FROM open o
JOIN ledger_notices(ARRAY(SELECT notice_id FROM open)) n ON n.id = o.notice_id
ORDER BY o.seq;

-- name: sent-pushes
-- Which push channels received notices of findings.
-- Arguments: $1 ids of firing notices, $2 numbers of their findings, $3 when their episodes began, $4 the lowest id
-- of the first of these days, $5 the lowest id behind the last.
-- Result: position of the notice (from 1); then for this notice, and for each notice that may be an earlier one of
-- its episode: sink, recipients of the sent deliveries there, body.
WITH t AS MATERIALIZED (SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS t (id, finding, since, n)),
told AS MATERIALIZED (
    SELECT t.n, o.id, o.body FROM t JOIN ledger_notices($1::text[]) o ON o.id = t.id COLLATE "C"
    UNION ALL
    SELECT t.n, o.id, o.body FROM t JOIN ledger_notices_of_findings($2::bigint[], $4, $5) o
        ON o.finding = t.finding AND o.created_at >= t.since AND o.status = 'firing' AND o.id <> t.id)
SELECT t.n, s.sink, s.recipients, t.body
FROM told t
JOIN (SELECT d.notice_id, l.sink, array_agg(d.recipients) AS recipients
      FROM ledger_deliveries_of(ARRAY(SELECT id FROM told)) d
      JOIN lanes l ON l.id = d.lane_id
      WHERE d.state = 1 AND d.kind IS NOT NULL
      GROUP BY d.notice_id, l.sink) AS s ON s.notice_id = t.id;

-- name: lock-lanes
-- Holds the lanes until the commit, so that seq ascends in the order of commit. The ids are sorted, so that two
-- commits cannot deadlock.
-- Arguments: $1 ids of lanes.
SELECT count(pg_advisory_xact_lock('lanes'::regclass::oid::integer, id)) FROM (SELECT unnest($1::integer[]) AS id ORDER BY 1) AS l;

-- name: take-seqs
-- Arguments: $1 how many.
-- Result: that many numbers, ascending.
SELECT array_agg(n ORDER BY n) FROM (SELECT nextval('deliveries_seq') AS n FROM generate_series(1, $1::integer)) AS s;

-- name: copy-deliveries
COPY deliveries_open (seq, expires_at, lane_id, notice_id, recipients) FROM STDIN BINARY;

-- name: copy-pushes
COPY pushes (seq, due, first_due, deadline, ends, finding, addressee, lane_id, kind, unless, delay, at, within, retry) FROM STDIN BINARY;

-- name: copy-notices
COPY notices (id, type, rule, status, created_at, expires_at, first_seq, last_seq, body, finding, warehouse, priority) FROM STDIN BINARY;

-- name: copy-findings
COPY findings (scope_id, key_hash, phase, priority, ordinal, episode, since_clock, absent_since, firing_since,
               last_notified, key, notice_id, group_key, silenced, watched, baseline, warehouse, term, last_row, row_due) FROM STDIN BINARY;

-- name: update-findings
-- Arguments: $1 scope id, then one array per column, $19 row due. Where the row is null, the old row stays. Where the
-- notice is unchanged, the warehouse stays.
-- Result: the number of rows.
UPDATE findings f
SET phase = n.phase, priority = n.priority, ordinal = n.ordinal, episode = n.episode, since_clock = n.since_clock,
    absent_since = n.absent_since, firing_since = n.firing_since, last_notified = n.last_notified, notice_id = n.notice_id,
    group_key = n.group_key, silenced = n.silenced, watched = n.watched, baseline = n.baseline, term = n.term,
    warehouse = CASE WHEN n.notice_id = f.notice_id THEN f.warehouse ELSE n.warehouse END,
    last_row = coalesce(n.last_row, f.last_row), row_due = CASE WHEN n.last_row IS NULL THEN f.row_due ELSE $19 END
FROM unnest($2::uuid[], $3::smallint[], $4::smallint[], $5::integer[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
            $10::bigint[], $11::text[], $12::text[], $13::text[], $14::text[], $15::boolean[], $16::text[],
            $17::bigint[], $18::bytea[])
     AS n (key_hash, phase, priority, ordinal, episode, since_clock, absent_since, firing_since, last_notified, notice_id,
           group_key, silenced, watched, baseline, warehouse, term, last_row)
WHERE f.scope_id = $1 AND f.key_hash = n.key_hash;

-- name: delete-findings
-- Arguments: $1 scope id, $2 key hashes.
-- Result: the number of rows.
DELETE FROM findings WHERE scope_id = $1 AND key_hash = ANY($2::uuid[]);

-- name: record-run
-- Writes the record of a firing, or adds to it if the firing is committed in parts. Earlier records move to
-- past_firings.
-- Arguments: $1 … $20 in the order of the columns.
WITH passed AS (DELETE FROM firings WHERE rule = $1 AND scope = $2 AND (term, due) < ($3::bigint, $4::bigint) RETURNING *),
past AS (INSERT INTO past_firings SELECT * FROM passed ON CONFLICT DO NOTHING)
INSERT INTO firings AS f (rule, scope, term, due, token, answer, node, started_at, duration, outcome, row_count, matched,
                          errored, pending, firing, notices, unsubscribed, strays, error, samples, last_due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $4)
ON CONFLICT (rule, scope, term, due) DO UPDATE
SET token = excluded.token, answer = excluded.answer, node = excluded.node, duration = f.duration + excluded.duration,
    outcome = CASE WHEN f.outcome = 'degraded' AND excluded.outcome = 'ok' THEN 'degraded' ELSE excluded.outcome END,
    row_count = f.row_count + excluded.row_count, matched = f.matched + excluded.matched,
    errored = f.errored + excluded.errored, pending = excluded.pending, firing = excluded.firing,
    notices = f.notices + excluded.notices, unsubscribed = f.unsubscribed + excluded.unsubscribed, strays = f.strays + excluded.strays,
    error = excluded.error, samples = CASE WHEN excluded.samples = '' THEN f.samples ELSE excluded.samples END;

-- name: record-scope
-- Writes the state after the run. The claim ends, unless the firing goes on.
-- Arguments: $1 id, $2 last due, $3 last ok due, $4 clock, $5 watermark or null, $6 due, $7 goes on, $8 where
-- resolutions go, $9 clock term of the firing, $10 `initial` of the watermark, '' = unchanged.
UPDATE rule_scopes s
SET last_due = $2, last_ok_due = $3, clock = $4,
    unwell_since = CASE WHEN EXISTS (SELECT FROM firings f WHERE f.rule = s.rule AND f.scope = s.scope AND f.term = $9 AND f.due = $6
                                     AND f.outcome IN ('degraded', 'failed'))
                        THEN coalesce(nullif(unwell_since, 0), $6) ELSE 0 END,
    watermark = coalesce($5, watermark),
    term = CASE WHEN $7 THEN term ELSE greatest(term, $9) END,
    done_due = CASE WHEN $7 OR term > $9 THEN done_due WHEN term < $9 THEN $6 ELSE greatest(done_due, $6) END,
    running_due = CASE WHEN $7 THEN running_due END, repeated = $7 AND repeated, back = $8, initial = coalesce(nullif($10, ''), initial)
WHERE id = $1;

-- name: commit-quiet
-- Commits runs that changed nothing, each under its claim. A run is added to the record of earlier runs with the same
-- result, or gets a record of its own; the state of its scope moves on. The statement leaves out runs whose claims are
-- not in force, and rows that another transaction has locked.
-- Arguments, all of the same length: $1 rules, $2 scopes, $3 clock terms, $4 dues, $5 tokens, $6 answers, $7 nodes,
-- $8 start times, $9 durations, $10 rows, $11 matched rows, $12 pending, $13 firing, $14 last ok dues, $15 clocks,
-- $16 where resolutions go; $17 how many runs a record has at most.
-- Result: the positions (from 1) of the committed runs.
WITH fenced AS MATERIALIZED (
    SELECT q.*, s.id
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[],
                $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::text[])
         WITH ORDINALITY AS q (rule, scope, term, due, token, answer, node, started_at, duration, row_count, matched, pending, firing, last_ok_due, clock, back, n)
    JOIN rule_scopes s ON s.rule = q.rule COLLATE "C" AND s.scope = q.scope COLLATE "C" AND s.token = q.token AND s.running_due = q.due
    ORDER BY s.id FOR NO KEY UPDATE OF s SKIP LOCKED),
moved AS (
    UPDATE rule_scopes s
    SET last_due = f.due, last_ok_due = f.last_ok_due, clock = f.clock, unwell_since = 0, term = greatest(s.term, f.term),
        done_due = CASE WHEN s.term > f.term THEN s.done_due WHEN s.term < f.term THEN f.due ELSE greatest(s.done_due, f.due) END,
        running_due = NULL, repeated = false, back = f.back
    FROM fenced f WHERE s.id = f.id),
added AS (
    UPDATE firings r
    SET token = f.token, answer = f.answer, last_due = f.due, started_at = f.started_at, duration = f.duration, runs = r.runs + 1,
        earlier = r.earlier
                  || CASE WHEN (r.last_due - r.due) % 1000000 = 0 THEN (r.last_due - r.due) / 1000000 || 's' ELSE (r.last_due - r.due)::text END
                  || ',' || r.started_at - r.last_due || ',' || r.duration || ';'
    FROM fenced f
    CROSS JOIN LATERAL (SELECT k.term, k.due FROM firings k WHERE k.rule = f.rule COLLATE "C" AND k.scope = f.scope COLLATE "C"
                        ORDER BY k.term DESC, k.due DESC LIMIT 1) AS l
    WHERE r.rule = f.rule COLLATE "C" AND r.scope = f.scope COLLATE "C" AND r.term = l.term AND r.due = l.due
      AND r.term = f.term AND r.last_due < f.due AND r.runs < $17 AND r.outcome = 'ok' AND r.notices = 0 AND r.unsubscribed = 0 AND r.node = f.node
      AND r.row_count = f.row_count AND r.matched = f.matched AND r.pending = f.pending AND r.firing = f.firing
    RETURNING f.n),
passed AS (
    DELETE FROM firings r USING fenced f
    WHERE r.rule = f.rule COLLATE "C" AND r.scope = f.scope COLLATE "C" AND (r.term, r.due) < (f.term, f.due) AND NOT EXISTS (SELECT FROM added a WHERE a.n = f.n)
    RETURNING r.*),
past AS (INSERT INTO past_firings SELECT * FROM passed ON CONFLICT DO NOTHING),
recorded AS (
    INSERT INTO firings (rule, scope, term, due, token, answer, node, started_at, duration, outcome, row_count, matched,
                         errored, pending, firing, notices, unsubscribed, error, samples, last_due)
    SELECT f.rule, f.scope, f.term, f.due, f.token, f.answer, f.node, f.started_at, f.duration, 'ok', f.row_count, f.matched,
           0, f.pending, f.firing, 0, 0, '', '', f.due
    FROM fenced f WHERE NOT EXISTS (SELECT FROM added a WHERE a.n = f.n))
SELECT n FROM fenced;

-- The rows that TryCommit writes and removes again: every commit of a run writes such rows. No rule is called ''. The
-- firing takes more room than most firings. If the disk has room for this firing, other commits have room as well.

-- name: try-scope
-- No arguments, no result. Another node that tries at the same moment waits for the end of this transaction.
INSERT INTO rule_scopes (id, rule, scope, registered_at) OVERRIDING SYSTEM VALUE VALUES (-1, '', '', 0);

-- name: try-firing
-- No arguments, no result.
INSERT INTO firings (rule, scope, due, token, answer, node, started_at, duration, outcome, row_count, matched, errored, pending, firing, notices, unsubscribed, error, samples, last_due)
VALUES ('', '', 0, 0, '', '', 0, 0, '', 0, 0, 0, 0, 0, 0, 0, '', repeat('x', 1800), 0);

-- name: end-try-firing
-- No arguments, no result.
DELETE FROM firings WHERE rule = '' AND scope = '' AND due = 0;

-- name: end-try-scope
-- No arguments, no result.
DELETE FROM rule_scopes WHERE id = -1;
