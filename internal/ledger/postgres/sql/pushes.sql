-- Deliveries to push channels. docs/adr/push-ledger.md has the order of locks: a transaction that ends or releases a
-- delivery locks all deliveries of its finding in the lane, in the order of seq.
--
-- The planner may have planned a statement when the table had three rows, and the table has a million when the
-- statement runs. So these statements run after by-key. No condition may let the planner use a partial index that it
-- would have to read as a whole. So pending is written `state <= 0`, open is written `coalesce(due, 0) > 0`, and the
-- lane is hidden (`lane_id + 0`) where the finding must lead to the rows.

-- name: by-any
-- Ends the effect of by-key.
SELECT set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'on', true),
       set_config('enable_hashjoin', 'on', true), set_config('enable_mergejoin', 'on', true);

-- name: claim-pushes
-- Leaves out rows that another transaction is about to change.
-- Arguments: $1 lane, $2 node, $3 lease in µs, $4 limit, $5 now, $6 now of leases.
-- Result: the columns of codec.ClaimRow and the body of the notice, the earliest first.
WITH due AS MATERIALIZED (
    SELECT p.ctid AS place FROM pushes p
    WHERE p.lane_id = $1 AND p.due <= (SELECT ledger_now($5)) AND p.ends + 0 > (SELECT ledger_now($5))
      AND p.until <= (SELECT ledger_now($6))
    ORDER BY p.due, p.seq LIMIT $4 FOR UPDATE SKIP LOCKED),
claimed AS (
    UPDATE pushes p SET until = (SELECT ledger_now($6)) + $3, token = p.token + 1, node = $2
    FROM due WHERE p.ctid = due.place
    RETURNING p.seq, p.due, p.token, p.deadline, p.forgiven, p.kind, p.unless, p.delay, p.at, p.within, p.retry),
open AS MATERIALIZED (
    SELECT c.*, d.attempts, d.recipients, d.expires_at, d.notice_id, row_number() OVER (ORDER BY c.due, c.seq) AS place
    FROM claimed c JOIN deliveries d ON d.seq = c.seq AND d.state <= 0)
SELECT o.seq, o.token, o.deadline, o.attempts - o.forgiven, o.attempts, o.recipients, o.kind, o.unless, o.delay, o.at, o.within, o.retry,
       o.expires_at = 9223372036854775807, (SELECT ledger_bodies(ARRAY(SELECT notice_id FROM open ORDER BY place)))[o.place]
FROM open o ORDER BY o.place;

-- name: release-pushes
-- Frees deliveries that the node has claimed but does not know of. A claimed delivery was due; one minute more covers
-- the difference between the clocks of nodes.
-- Arguments: $1 lane, $2 node, $3 numbers that the node knows, $4 now.
UPDATE pushes p SET until = 0, node = ''
FROM (SELECT o.seq FROM pushes o
      WHERE o.lane_id = $1 AND o.due <= (SELECT ledger_now($4)) + 60000000 AND o.node = $2 AND o.seq <> ALL($3::bigint[])
      ORDER BY o.seq FOR UPDATE SKIP LOCKED) AS held
WHERE p.seq = held.seq AND p.node = $2;

-- name: next-push
-- Arguments: $1 lane, $2 now, $3 now of leases.
-- Result: now, and when the next open delivery may be claimed, 0 = none. If the first unclaimed delivery is due later,
-- all due deliveries are claimed. Then the end of a lease may come first.
WITH clock AS MATERIALIZED (SELECT ledger_now($2) AS now, ledger_now($3) AS leases),
first AS MATERIALIZED (
    SELECT p.due FROM pushes p
    WHERE p.lane_id = $1 AND p.due > 0 AND p.ends + 0 > (SELECT now FROM clock) AND p.until <= (SELECT leases FROM clock)
    ORDER BY p.due, p.seq LIMIT 1)
SELECT c.now,
       CASE WHEN f.due <= c.now THEN f.due
            ELSE coalesce(least(f.due, (SELECT min(b.until) - c.leases + c.now
                                        FROM (SELECT p.until FROM pushes p
                                              WHERE p.lane_id = $1 AND p.due <= c.now AND p.ends + 0 > c.now AND p.until > c.leases
                                              ORDER BY p.due, p.seq OFFSET 0) AS b)), 0) END
FROM clock c LEFT JOIN first f ON true;

-- name: lock-pushes
-- Locks deliveries. For deliveries that may end, it also locks the other open deliveries of their findings.
-- Arguments: $1 seqs, $2 the seqs among them of deliveries that may end.
-- Result: the number of locked rows.
SELECT count(*)
FROM (SELECT p.seq FROM pushes p
      WHERE p.seq = ANY (ARRAY(
          SELECT unnest($1::bigint[])
          UNION SELECT o.seq FROM pushes e
                JOIN pushes o ON o.finding = e.finding AND o.lane_id + 0 = e.lane_id AND o.addressee = e.addressee AND o.due IS NOT NULL
                WHERE e.seq = ANY($2::bigint[])))
      ORDER BY p.seq FOR UPDATE) AS locked;

-- name: lock-followed
-- lock-pushes for sent deliveries. Usually their findings have no other open delivery. Then this statement locks
-- nothing, because settle-sent locks the deliveries in the same order. Otherwise it locks all of the deliveries, and
-- the other open deliveries of their findings.
-- Arguments: $1 seqs.
-- Result: the number of locked rows; and the findings, lanes and addressees of the deliveries that belong to a finding,
-- because only such deliveries release another delivery.
WITH concerned AS MATERIALIZED (
    SELECT e.finding, e.lane_id, e.addressee,
           ARRAY(SELECT o.seq FROM pushes o
                 WHERE o.finding = e.finding AND o.lane_id + 0 = e.lane_id AND o.addressee = e.addressee
                   AND o.due IS NOT NULL AND o.seq <> e.seq) AS others
    FROM pushes e WHERE e.seq = ANY($1::bigint[]) AND e.finding IS NOT NULL)
SELECT (SELECT count(*)
        FROM (SELECT p.seq FROM pushes p
              WHERE p.seq = ANY (ARRAY(
                  SELECT unnest($1::bigint[]) WHERE EXISTS (SELECT FROM concerned c WHERE cardinality(c.others) > 0)
                  UNION SELECT unnest(c.others) FROM concerned c))
              ORDER BY p.seq FOR UPDATE) AS locked),
       ARRAY(SELECT c.finding FROM concerned c), ARRAY(SELECT c.lane_id FROM concerned c), ARRAY(SELECT c.addressee FROM concerned c);

-- name: reopen-sent
-- Comes before settle-sent: makes deliveries pending again that were canceled or ended while an attempt was running.
-- settle-sent can then record these deliveries as sent.
-- Arguments: $1 seqs.
SELECT ledger_reopen(ARRAY(SELECT p.seq FROM pushes p WHERE p.seq = ANY($1::bigint[]) AND p.due IS NULL));

-- name: settle-sent
-- Removes the rows in pushes, because sent deliveries need no more work. The columns that operators see are copied to
-- the table deliveries.
-- Arguments: $1 seqs, ascending, $2 µs since their attempts began, $3 the attempts, $4 now.
WITH sent AS (
    DELETE FROM pushes p USING unnest($1::bigint[], $2::bigint[], $3::text[]) AS s (seq, ago, attempt) WHERE p.seq = s.seq
    RETURNING p.seq, p.kind, p.unless, p.delay, p.at, p.within, p.retry, p.deadline, s.ago, s.attempt)
UPDATE deliveries d
SET state = 1, attempts = d.attempts + 1, ended_at = (SELECT ledger_now($4)), last_error = '',
    tried = ledger_tried((SELECT ledger_now($4)) - s.ago || s.attempt, d.tried),
    kind = s.kind, unless = s.unless, delay = s.delay, at = s.at, within = s.within, retry = s.retry, deadline = s.deadline
FROM sent s WHERE d.seq = s.seq AND d.state <= 0;

-- name: settle-failed
-- Arguments: $1 seqs, $2 tokens, $3 errors, $4 µs since the attempts began, $5 the attempts, $6 now.
WITH ended AS (
    UPDATE pushes p SET due = NULL, until = 0, node = ''
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[]) AS s (seq, token, error, ago, attempt)
    WHERE p.seq = s.seq AND p.token = s.token AND p.node <> ''
    RETURNING p.seq, s.error, s.ago, s.attempt)
UPDATE deliveries d
SET state = 2, ended_at = (SELECT ledger_now($6)), attempts = d.attempts + 1, last_error = e.error, tried = ledger_tried((SELECT ledger_now($6)) - e.ago || e.attempt, d.tried)
FROM ended e WHERE d.seq = e.seq AND d.state <= 0;

-- name: settle-again
-- Arguments: $1 seqs, $2 tokens, $3 errors, $4 µs until the next attempt, $5 µs since the attempts began, $6 the
-- attempts, $7 now.
WITH waiting AS (
    UPDATE pushes p SET due = (SELECT ledger_now($7)) + s.after, until = 0, node = ''
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[]) AS s (seq, token, error, after, ago, attempt)
    WHERE p.seq = s.seq AND p.token = s.token AND p.node <> ''
    RETURNING p.seq, s.error, s.ago, s.attempt)
UPDATE deliveries d
SET attempts = d.attempts + 1, last_error = w.error, tried = ledger_tried((SELECT ledger_now($7)) - w.ago || w.attempt, d.tried)
FROM waiting w WHERE d.seq = w.seq AND d.state <= 0;

-- name: settle-release
-- Arguments: $1 seqs, $2 tokens, $3 µs since the attempts began, $4 the attempts that were cut off, $5 now.
WITH released AS (
    UPDATE pushes p SET until = 0, node = ''
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) AS s (seq, token, ago, attempt)
    WHERE p.seq = s.seq AND p.token = s.token AND p.node <> ''
    RETURNING p.seq, s.ago, s.attempt)
UPDATE deliveries d SET tried = ledger_tried((SELECT ledger_now($5)) - r.ago || r.attempt, d.tried)
FROM released r WHERE d.seq = r.seq AND r.attempt <> '' AND d.state <= 0;

-- name: cancel-deliveries
-- Arguments: $1 seqs, $2 reason.
-- Result: the seqs of the deliveries that were pending.
WITH ended AS (UPDATE pushes SET due = NULL, until = 0, node = '' WHERE seq = ANY($1::bigint[]) AND coalesce(due, 0) > 0)
UPDATE deliveries SET state = 4, last_error = $2 WHERE seq = ANY($1::bigint[]) AND state <= 0 RETURNING seq;

-- name: release-next
-- For each finding whose open deliveries all wait, makes the first of them due. It must be a statement of its own,
-- after the statements that end deliveries. Otherwise it would not see that these deliveries have ended.
-- Arguments: $1 seqs of deliveries of some findings; $2 to $4 findings, lanes and addressees of others, from
-- lock-followed; $5 now.
UPDATE pushes n SET due = greatest(n.first_due, (SELECT ledger_now($5)))
FROM (SELECT e.finding, e.lane_id, e.addressee FROM pushes e
      WHERE e.seq = ANY($1::bigint[]) AND e.finding IS NOT NULL
      UNION SELECT * FROM unnest($2::bigint[], $3::integer[], $4::bigint[])) AS q
WHERE coalesce(n.due, 0) = 9223372036854775807
  AND n.seq = (SELECT CASE WHEN bool_and(o.due = 9223372036854775807) THEN min(o.seq) END FROM pushes o
               WHERE o.due IS NOT NULL AND o.finding = q.finding AND o.lane_id + 0 = q.lane_id AND o.addressee = q.addressee);

-- name: over-pushes
-- Deliveries past their deadline, or whose notice has expired. Only one node at a time ends deliveries of a lane; for
-- other nodes the result is empty.
-- Arguments: $1 lane, $2 limit, $3 now.
-- Result: seq.
SELECT p.seq FROM pushes p
WHERE p.lane_id = $1 AND p.due IS NOT NULL AND p.ends <= (SELECT ledger_now($3))
  AND (SELECT pg_try_advisory_xact_lock('pushes'::regclass::oid::integer, $1))
ORDER BY p.ends LIMIT $2;

-- name: end-pushes
-- Ends deliveries that over-pushes found and lock-pushes has locked.
-- Arguments: $1 seqs, $2 now.
-- Result: seq and state.
WITH over AS MATERIALIZED (
    SELECT p.seq, p.deadline = p.ends AS late FROM pushes p
    WHERE p.seq = ANY($1::bigint[]) AND coalesce(p.due, 0) > 0 AND p.ends <= (SELECT ledger_now($2))),
ended AS (UPDATE pushes p SET due = NULL, until = 0, node = '' FROM over o WHERE p.seq = o.seq)
UPDATE deliveries d
SET state = CASE WHEN o.late THEN 3 ELSE 4 END,
    last_error = CASE WHEN NOT o.late THEN 'the notice has expired'
                      WHEN d.last_error = '' THEN 'the deadline passed before the first attempt' ELSE d.last_error END
FROM over o WHERE d.seq = o.seq AND d.state <= 0
RETURNING d.seq, d.state;
