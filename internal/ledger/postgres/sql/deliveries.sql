-- Lanes, their deliveries, and the indexes in Redis.

-- name: lane
-- Arguments: $1 sink, $2 warehouse.
-- Result: its id; no row if the lane is new.
SELECT id FROM lanes WHERE sink = $1 AND warehouse = $2;

-- name: add-lane
-- Arguments: $1 sink, $2 warehouse.
INSERT INTO lanes (sink, warehouse) VALUES ($1, $2) ON CONFLICT (sink, warehouse) DO NOTHING;

-- name: pending-lanes
-- Arguments: $1 sink, $2 now.
-- Result: warehouses of lanes that have pending deliveries and no lease in force. As in oldest-pending, the lane is
-- written as a range.
SELECT l.warehouse FROM lanes l
CROSS JOIN LATERAL (SELECT FROM deliveries d WHERE d.lane_id BETWEEN l.id AND l.id AND d.state = 0 ORDER BY d.lane_id, d.seq LIMIT 1) AS d
WHERE l.sink = $1 AND l.lease_until <= (SELECT ledger_now($2))
ORDER BY l.warehouse;

-- name: acquire-lane
-- A lane whose session has not ended stays with the session, whatever the clock did to the lease.
-- Arguments: $1 id, $2 session, $3 lease in µs, $4 now.
-- Result: the number of rows, 0 = another session has the lane.
UPDATE lanes SET node = $2, lease_until = ledger_now($4) + $3
WHERE id = $1 AND (node = $2 OR lease_until <= (SELECT ledger_now($4)) AND NOT EXISTS (SELECT FROM nodes n WHERE n.session = lanes.node));

-- name: release-lane
-- Arguments: $1 sink, $2 warehouse, $3 node.
UPDATE lanes SET node = '', lease_until = 0 WHERE sink = $1 AND warehouse = $2 AND node = $3;

-- name: pending
-- Arguments: $1 lane, $2 seq to start after, $3 limit, $4 now.
-- Result: seq, expired, recipients, and the body of the notice, in the order of seq. As in oldest-pending, the lane is
-- written as a range.
WITH page AS MATERIALIZED (
    SELECT seq, expires_at, recipients, notice_id FROM deliveries
    WHERE lane_id BETWEEN $1 AND $1 AND state = 0 AND seq > $2 ORDER BY lane_id, seq LIMIT $3)
SELECT d.seq, d.expires_at <= (SELECT ledger_now($4)), d.recipients, n.body
FROM page d JOIN ledger_notices(ARRAY(SELECT notice_id FROM page)) n ON n.id = d.notice_id
ORDER BY d.seq;

-- name: cancel
-- Arguments: $1 seqs.
UPDATE deliveries SET state = 4, last_error = 'the notice has expired' WHERE seq = ANY($1::bigint[]) AND state = 0;

-- name: mark-sent
-- Records receipts whose epoch is the recorded one, or that have none. It locks the states: a change of the epoch
-- waits until its rebuild can see these receipts.
-- Arguments: $1 seqs, $2 scores, $3 epochs, $4 now, $5 the node that must hold the lanes, '' = any, $6 µs since the
-- attempt began, $7 the attempt.
-- Result: the notices of the recorded receipts. A receipt is missing where its delivery was not pending, its epoch is
-- not the recorded one, or another node holds the lane.
WITH states AS MATERIALIZED (SELECT sink, epoch FROM inbox_states FOR SHARE)
UPDATE deliveries d
SET state = 1, score = r.score, epoch = r.epoch, attempts = d.attempts + 1, ended_at = (SELECT ledger_now($4)), last_error = '',
    tried = CASE WHEN d.tried = '' THEN '' ELSE ledger_tried((SELECT ledger_now($4)) - $6::bigint || $7::text, d.tried) END
FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS r (seq, score, epoch), lanes l LEFT JOIN states s ON s.sink = l.sink
WHERE d.seq = r.seq AND d.state = 0 AND l.id = d.lane_id AND ($5 = '' OR l.node = $5) AND (r.epoch = '' OR r.epoch = coalesce(s.epoch, r.epoch))
RETURNING d.notice_id;

-- name: notices-of
-- Arguments: $1 seqs.
-- Result: the notices of these deliveries.
SELECT notice_id FROM ledger_deliveries($1::bigint[]);

-- name: still-pending
-- Arguments: $1 seqs.
-- Result: how many of them are pending.
SELECT count(*) FROM deliveries WHERE seq = ANY($1::bigint[]) AND state = 0;

-- name: mark-attempt
-- Arguments: $1 seqs, $2 cause, $3 now, $4 µs since the attempt began, $5 the attempt.
UPDATE deliveries
SET attempts = attempts + 1, last_error = $2, tried = ledger_tried((SELECT ledger_now($3)) - $4::bigint || $5::text, tried)
WHERE seq = ANY($1::bigint[]) AND state = 0;

-- name: mark-failed
-- Arguments: $1 seqs, $2 cause, $3 now, $4 µs since the attempt began, $5 the attempt.
UPDATE deliveries
SET state = 2, ended_at = (SELECT ledger_now($3)), attempts = attempts + 1, last_error = $2, tried = ledger_tried((SELECT ledger_now($3)) - $4::bigint || $5::text, tried)
WHERE seq = ANY($1::bigint[]) AND state = 0;

-- name: count-pending
-- Reads only the index of pending deliveries.
-- Result: sink, number.
SELECT l.sink, sum(c.n)::bigint
FROM (SELECT lane_id, count(*) AS n FROM deliveries WHERE state = 0 GROUP BY lane_id) AS c JOIN lanes l ON l.id = c.lane_id
GROUP BY l.sink;

-- name: oldest-pending
-- Finds the first pending delivery of each lane, and then the first of these in the lanes of a sink. It reads only this
-- delivery. For a push channel it reads the first entry of the index pushes_first. The lane is written as a range and
-- leads the order, so that only the index of pending deliveries has this order. With an equality, and while the
-- statistics say that most deliveries are pending, the server would use the key of the table and read all deliveries
-- that were sent since.
-- Result: sink, since when its oldest pending delivery waits.
SELECT o.sink, o.since
FROM (SELECT f.sink, CASE WHEN EXISTS (SELECT FROM pushes p WHERE p.seq = f.seq)
                          THEN (SELECT p.first_due FROM pushes p
                                WHERE p.lane_id BETWEEN f.lane_id AND f.lane_id AND p.due < 9223372036854775807 AND p.held = ''
                                ORDER BY p.lane_id, p.first_due LIMIT 1)
                          ELSE (SELECT n.created_at FROM ledger_notices(ARRAY(SELECT d.notice_id FROM deliveries d WHERE d.seq = f.seq AND d.state <= 0)) n) END AS since
      FROM (SELECT DISTINCT ON (l.sink) l.sink, l.id AS lane_id, d.seq
            FROM lanes l
            CROSS JOIN LATERAL (SELECT seq FROM deliveries WHERE lane_id BETWEEN l.id AND l.id AND state = 0 ORDER BY lane_id, seq LIMIT 1) AS d
            ORDER BY l.sink, d.seq) AS f) AS o
WHERE o.since IS NOT NULL;

-- name: oldest-failed
-- Arguments: $1 how many failed deliveries of each sink are read at most.
-- Result: sink, when the earliest of these deliveries failed.
SELECT l.sink, c.since
FROM (SELECT sink, array_agg(id) AS ids FROM lanes GROUP BY sink) AS l
CROSS JOIN LATERAL (
    SELECT min(f.ended_at) AS since
    FROM (SELECT d.ended_at FROM deliveries d WHERE d.state > 1 AND d.state = 2 AND d.lane_id = ANY (l.ids) LIMIT $1) AS f) AS c
WHERE c.since IS NOT NULL;

-- name: count-deliveries
-- Counts no further than the limit, so that the cost does not depend on how many deliveries are kept: each part reads
-- a stretch of its partial index only.
-- Arguments: $1 limit.
-- Result: sink, state, number.
SELECT l.sink, s.state, c.n
FROM (SELECT sink, array_agg(id) AS ids FROM lanes GROUP BY sink) AS l
CROSS JOIN (VALUES (0::smallint), (1), (2), (3), (4)) AS s (state)
CROSS JOIN LATERAL (
    SELECT count(*) AS n
    FROM (SELECT FROM deliveries d WHERE s.state = 0 AND d.state = 0 AND d.lane_id = ANY (l.ids)
          UNION ALL SELECT FROM deliveries d WHERE s.state = 1 AND d.state = 1 AND d.lane_id = ANY (l.ids)
          UNION ALL SELECT FROM deliveries d WHERE s.state > 1 AND d.state > 1 AND d.state = s.state AND d.lane_id = ANY (l.ids)
          LIMIT $1) AS found) AS c
WHERE c.n > 0;

-- name: index-state
-- Arguments: $1 sink, $2 now.
-- Result: epoch, run ids (JSON), building, node, rest of the lease in µs.
SELECT epoch, run_ids, building, node, lease_until - (SELECT ledger_now($2)) FROM inbox_states WHERE sink = $1;

-- name: first-epoch
-- Arguments: $1 sink, $2 epoch, $3 run ids, $4 node, $5 lease in µs, $6 now.
-- Result: the number of rows, 0 = the sink has an epoch.
INSERT INTO inbox_states (sink, epoch, run_ids, building, node, lease_until)
VALUES ($1, $2, $3, true, $4, ledger_now($6) + $5) ON CONFLICT (sink) DO NOTHING;

-- name: next-epoch
-- Arguments: $1 sink, $2 epoch, $3 run ids, $4 node, $5 lease in µs, $6 now, $7 the epoch before.
-- Result: the number of rows, 0 = fenced.
UPDATE inbox_states SET epoch = $2, run_ids = $3, building = true, node = $4, lease_until = ledger_now($6) + $5
WHERE sink = $1 AND epoch = $7 AND NOT (building AND node <> $4 AND lease_until > (SELECT ledger_now($6)));

-- name: finish-epoch
-- Arguments: $1 sink, $2 epoch.
-- Result: the number of rows, 0 = fenced.
UPDATE inbox_states SET building = false WHERE sink = $1 AND epoch = $2;

-- name: highest-scores
-- Arguments: $1 sink.
-- Result: warehouse, score.
SELECT l.warehouse, h.score
FROM lanes l
CROSS JOIN LATERAL (SELECT d.score FROM deliveries d WHERE d.lane_id = l.id AND d.state = 1
                    ORDER BY d.score DESC LIMIT 1) AS h
WHERE l.sink = $1;

-- name: delivered
-- Arguments: $1 lane, $2 score to start after, $3 limit, $4 now.
-- Result: seq, score, recipients, body, by score.
WITH page AS MATERIALIZED (
    SELECT seq, score, recipients, notice_id FROM deliveries
    WHERE lane_id = $1 AND state = 1 AND score > $2 AND expires_at > (SELECT ledger_now($4))
    ORDER BY score LIMIT $3)
SELECT d.seq, d.score, d.recipients, n.body
FROM page d JOIN ledger_notices(ARRAY(SELECT notice_id FROM page)) n ON n.id = d.notice_id
ORDER BY d.score;
