-- How operators list and change deliveries. pushes.sql explains how the conditions are written.

-- name: plan-anew
-- Makes the server plan the next statement of the transaction for its actual arguments, because most of a filter is
-- empty.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true);

-- name: list-deliveries
-- reversed: list-deliveries-oldest
-- Arguments: $1 sink, $2 warehouse, $3 type, $4 rule, $5 notice, '' = any; $6 states, none = any; $7 numbers below
-- this one, $8 limit, $9 now, $10 only those that wait behind another or for a silence, $11 numbers above this one,
-- $12 a cause as in delivery-causes, '' = any, $13 now of leases.
-- Result: the columns of codec.DeliveryRecord, the latest first. $9 and $13 are two clocks. The result has the end of a lease on the clock of $9.
SELECT d.notice_id, d.seq, l.sink, l.warehouse, d.state, d.attempts, d.last_error, CASE WHEN d.state = 1 THEN d.ended_at ELSE 0 END, d.recipients, n.body,
       coalesce(p.kind, d.kind, ''), coalesce(p.unless, d.unless, ''), coalesce(p.delay, d.delay, 0), coalesce(p.at, d.at, 0),
       coalesce(p.within, d.within, 0), coalesce(p.retry, d.retry, 0), d.expires_at = 9223372036854775807,
       coalesce(CASE WHEN p.until > (SELECT ledger_now($13)) THEN p.until - (SELECT ledger_now($13)) + (SELECT ledger_now($9)) ELSE p.due END, 0), coalesce(p.deadline, d.deadline, 0), coalesce(p.node, ''),
       coalesce(p.until > (SELECT ledger_now($13)), false), CASE WHEN p.due = p.held_until AND p.due > (SELECT ledger_now($9)) THEN p.held ELSE '' END,
       CASE WHEN p.due = 9223372036854775807 THEN coalesce((
              SELECT min(f.seq) FROM pushes f
              WHERE f.finding = p.finding AND f.lane_id = p.lane_id AND f.addressee = p.addressee AND f.due < 9223372036854775807), 0)
            ELSE 0 END
FROM deliveries d
JOIN lanes l ON l.id = d.lane_id
JOIN notices n ON n.id = d.notice_id
LEFT JOIN pushes p ON p.seq = d.seq
WHERE d.seq < $7
  AND ($1 = '' OR d.lane_id = ANY (ARRAY(SELECT id FROM lanes WHERE sink = $1)))
  AND ($2 = '' OR n.warehouse = $2)
  AND ($3 = '' OR n.type = $3)
  AND ($4 = '' OR n.rule = $4)
  AND ($5 = '' OR d.notice_id = $5 AND d.seq BETWEEN (SELECT first_seq FROM notices WHERE id = $5) AND (SELECT last_seq FROM notices WHERE id = $5))
  AND (cardinality($6::smallint[]) = 0 OR d.state = ANY ($6::smallint[]))
  AND d.seq > $11 AND ($12 = '' OR $12 =
       CASE WHEN d.tried = '' THEN 'none'
            WHEN split_part(d.tried, ' ', 3) = '-1' THEN 'refused'
            WHEN starts_with(split_part(d.tried, ' ', 3), '-') THEN 'refused:' || substr(split_part(d.tried, ' ', 3), 2)
            WHEN split_part(d.tried, ' ', 3) <> '0' THEN split_part(d.tried, ' ', 3)
            WHEN d.last_error ~ 'no answer within|[Tt]imeout|deadline exceeded' THEN 'timeout'
            ELSE 'unanswered' END)
  AND (NOT $10::boolean OR p.until <= (SELECT ledger_now($13)) AND p.due > (SELECT ledger_now($9)) AND p.due IN (9223372036854775807, p.held_until))
ORDER BY d.seq DESC LIMIT $8;

-- name: delivery-causes
-- Why deliveries failed or timed out, by the latest attempt: its status, which is negative where the receiver refused
-- for good, or its error where the receiver gave no status.
-- Arguments: $1 how many are read of each sink and state, $2 warehouse, '' = all.
-- Result: sink, state, cause, number, the latest delivery and its error.
SELECT l.sink, c.state, c.cause, count(*), max(c.seq), (array_agg(c.last_error ORDER BY c.seq DESC))[1]
FROM (SELECT sink, array_agg(id) AS ids FROM lanes GROUP BY sink) AS l
CROSS JOIN (VALUES (2::smallint), (3)) AS s (state)
CROSS JOIN LATERAL (
    SELECT d.seq, d.state, d.notice_id, d.last_error,
       CASE WHEN d.tried = '' THEN 'none'
            WHEN split_part(d.tried, ' ', 3) = '-1' THEN 'refused'
            WHEN starts_with(split_part(d.tried, ' ', 3), '-') THEN 'refused:' || substr(split_part(d.tried, ' ', 3), 2)
            WHEN split_part(d.tried, ' ', 3) <> '0' THEN split_part(d.tried, ' ', 3)
            WHEN d.last_error ~ 'no answer within|[Tt]imeout|deadline exceeded' THEN 'timeout'
            ELSE 'unanswered' END AS cause
    FROM deliveries d WHERE d.state > 1 AND d.state = s.state AND d.lane_id = ANY (l.ids) LIMIT $1) AS c
WHERE $2 = '' OR EXISTS (SELECT FROM notices n WHERE n.id = c.notice_id AND n.warehouse = $2)
GROUP BY l.sink, c.state, c.cause
ORDER BY count(*) DESC, l.sink, c.state, c.cause;

-- name: attempts
-- Arguments: $1 seq.
-- Result: its last attempts.
SELECT tried FROM deliveries WHERE seq = $1;

-- name: lock-rules
-- Locks the rules of deliveries to push channels, so that no commit adds deliveries of their findings meanwhile.
-- Arguments: $1 seqs.
-- Result: their number.
SELECT count(*)
FROM (SELECT s.id FROM rule_scopes s
      WHERE s.rule = ANY (ARRAY(SELECT n.rule FROM ledger_notices(ARRAY(
          SELECT d.notice_id FROM ledger_deliveries($1::bigint[]) d JOIN pushes p ON p.seq = d.seq AND p.finding IS NOT NULL)) n))
      ORDER BY s.id FOR NO KEY UPDATE) AS locked;

-- name: lock-queues
-- Locks all queues if some of the deliveries are for events of items. So no moves add events of these items meanwhile.
-- Arguments: $1 seqs.
-- Result: their number.
SELECT count(*)
FROM (SELECT q.id FROM queues q
      WHERE EXISTS (SELECT FROM ledger_notices(ARRAY(
          SELECT d.notice_id FROM ledger_deliveries($1::bigint[]) d JOIN pushes p ON p.seq = d.seq AND p.finding IS NOT NULL)) n WHERE n.rule = '')
      ORDER BY q.id FOR NO KEY UPDATE) AS locked;

-- name: hasten-pushes
-- Makes waiting unclaimed deliveries due at once. A delivery that waits behind another one stays there.
-- Arguments: $1 seqs, $2 now, $3 now of leases.
-- Result: their numbers.
UPDATE pushes p
SET first_due = least(p.first_due, (SELECT ledger_now($2))),
    due = CASE WHEN p.due = 9223372036854775807 THEN p.due ELSE least(p.due, (SELECT ledger_now($2))) END,
    forgiven = (SELECT d.attempts FROM deliveries d WHERE d.seq = p.seq AND d.state <= 0)
WHERE p.seq = ANY($1::bigint[]) AND coalesce(p.due, 0) > 0 AND p.ends > (SELECT ledger_now($2))
  AND p.until <= (SELECT ledger_now($3))
RETURNING p.seq;

-- name: revive-deliveries
-- Makes deliveries pending again that have ended unsent.
-- Arguments: $1 seqs, $2 now.
-- Result: their numbers, and the states that they had.
UPDATE deliveries d SET state = 0, last_error = CASE WHEN d.state = 4 THEN '' ELSE d.last_error END
FROM (SELECT e.seq, e.state FROM deliveries e
      WHERE e.seq = ANY($1::bigint[]) AND e.state + 0 IN (2, 3, 4) AND e.expires_at > (SELECT ledger_now($2))
      ORDER BY e.seq FOR NO KEY UPDATE) o
WHERE d.seq = o.seq
RETURNING d.seq, o.state;

-- name: revive-pushes
-- Changes only deliveries that revive-deliveries has made pending.
-- Arguments: $1 seqs, $2 now.
UPDATE pushes p
SET due = CASE WHEN p.finding IS NULL THEN (SELECT ledger_now($2)) ELSE 9223372036854775807 END,
    first_due = (SELECT ledger_now($2)),
    deadline = CASE WHEN p.within > 0 THEN (SELECT ledger_now($2)) + p.within ELSE 0 END,
    ends = CASE WHEN p.within > 0 THEN least(d.expires_at, (SELECT ledger_now($2)) + p.within) ELSE d.expires_at END,
    until = 0, unless = '', node = '', forgiven = d.attempts
FROM deliveries d
WHERE p.seq = ANY($1::bigint[]) AND p.due IS NULL AND d.seq = p.seq AND d.state <= 0;

-- name: line-up
-- Puts due and unclaimed deliveries behind an earlier open one of the same finding.
-- Arguments: $1 seqs of deliveries of these findings, $2 now of leases.
UPDATE pushes n SET due = 9223372036854775807, until = 0, node = ''
WHERE n.seq = ANY (ARRAY(
        SELECT o.seq FROM pushes e
        JOIN pushes o ON o.finding = e.finding AND o.lane_id + 0 = e.lane_id AND o.addressee = e.addressee AND o.due IS NOT NULL
        WHERE e.seq = ANY($1::bigint[])))
  AND coalesce(n.due, 0) BETWEEN 1 AND 9223372036854775806 AND n.until <= (SELECT ledger_now($2))
  AND EXISTS (SELECT FROM pushes f
              WHERE f.due IS NOT NULL AND f.finding = n.finding AND f.lane_id + 0 = n.lane_id AND f.addressee = n.addressee AND f.seq < n.seq);

-- name: lanes-of
-- Arguments: $1 seqs.
-- Result: sink and warehouse of their lanes, sorted.
SELECT DISTINCT l.sink, l.warehouse FROM deliveries d JOIN lanes l ON l.id = d.lane_id WHERE d.seq = ANY($1::bigint[]) ORDER BY 1, 2;
