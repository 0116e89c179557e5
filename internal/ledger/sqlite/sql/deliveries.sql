-- Lanes, their deliveries, and the indexes in Redis.

-- name: lane
-- Arguments: ?1 sink, ?2 warehouse.
-- Result: its id; no row if the lane is new.
SELECT id FROM lanes WHERE sink = ?1 AND warehouse = ?2;

-- name: add-lane
-- Arguments: ?1 sink, ?2 warehouse.
INSERT INTO lanes (sink, warehouse) VALUES (?1, ?2) ON CONFLICT (sink, warehouse) DO NOTHING;

-- name: pending-lanes
-- Arguments: ?1 sink, ?2 now.
-- Result: warehouses of lanes that have pending deliveries and no lease in force.
SELECT l.warehouse FROM lanes l
WHERE l.sink = ?1 AND l.lease_until <= ?2 AND EXISTS (SELECT 1 FROM deliveries d WHERE d.lane_id = l.id AND d.state = 0)
ORDER BY l.warehouse;

-- name: acquire-lane
-- A lane whose session has not ended stays with the session, whatever the clock did to the lease.
-- Arguments: ?1 id, ?2 session, ?3 lease in µs, ?4 now.
-- Result: the number of rows, 0 = another session has the lane.
UPDATE lanes SET node = ?2, lease_until = ?4 + ?3
WHERE id = ?1 AND (node = ?2 OR lease_until <= ?4 AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.session = lanes.node));

-- name: release-lane
-- Arguments: ?1 sink, ?2 warehouse, ?3 node.
UPDATE lanes SET node = '', lease_until = 0 WHERE sink = ?1 AND warehouse = ?2 AND node = ?3;

-- name: pending
-- Arguments: ?1 lane, ?2 seq to start after, ?3 limit, ?4 now.
-- Result: seq, expired, recipients, and the body of the notice, in the order of seq.
SELECT d.seq, d.expires_at <= ?4, d.recipients, n.body
FROM deliveries d JOIN notices n ON n.num = d.notice
WHERE d.lane_id = ?1 AND d.state = 0 AND d.seq > ?2 ORDER BY d.seq LIMIT ?3;

-- name: cancel
-- Arguments: ?1 seqs (JSON).
UPDATE deliveries SET state = 4, last_error = 'the notice has expired'
WHERE seq IN (SELECT value FROM json_each(?1)) AND state = 0;

-- name: stale-receipts
-- Arguments: ?1 receipts (JSON: [[seq, score, epoch], …]), ?2 the node that must hold the lanes, '' = any.
-- Result: how many receipts have another epoch than the recorded one, or are for a lane that another node holds.
SELECT count(*)
FROM json_each(?1) r
JOIN deliveries d ON d.seq = r.value ->> 0 AND d.state = 0
JOIN lanes l ON l.id = d.lane_id
LEFT JOIN inbox_states s ON s.sink = l.sink
WHERE r.value ->> 2 NOT IN ('', coalesce(s.epoch, r.value ->> 2)) OR ?2 NOT IN ('', l.node);

-- name: mark-sent
-- Records receipts whose epoch is the recorded one, or that have none.
-- Arguments: ?1 receipts (JSON: [[seq, score, epoch], …]), ?2 now, ?3 the node that must hold the lanes, '' = any, ?4
-- µs since the attempt began, ?5 the attempt.
UPDATE deliveries AS d
SET state = 1, score = r.score, epoch = r.epoch, attempts = d.attempts + 1, ended_at = ?2, last_error = '',
    tried = iif(d.tried = '', '', substr((?2 - ?4) || ?5 || d.tried, 1, 6000))
FROM (SELECT value ->> 0 AS seq, value ->> 1 AS score, value ->> 2 AS epoch FROM json_each(?1)) AS r
WHERE d.seq = r.seq AND d.state = 0
  AND (?3 = '' OR (SELECT l.node FROM lanes l WHERE l.id = d.lane_id) = ?3)
  AND (r.epoch = '' OR r.epoch = coalesce((SELECT s.epoch FROM lanes l JOIN inbox_states s ON s.sink = l.sink
                                           WHERE l.id = d.lane_id), r.epoch));

-- name: mark-attempt
-- Arguments: ?1 seqs (JSON), ?2 cause, ?3 now, ?4 µs since the attempt began, ?5 the attempt.
UPDATE deliveries SET attempts = attempts + 1, last_error = ?2, tried = substr((?3 - ?4) || ?5 || tried, 1, 6000)
WHERE seq IN (SELECT value FROM json_each(?1)) AND state = 0;

-- name: mark-failed
-- Arguments: ?1 seqs (JSON), ?2 cause, ?3 now, ?4 µs since the attempt began, ?5 the attempt.
UPDATE deliveries
SET state = 2, ended_at = ?3, attempts = attempts + 1, last_error = ?2, tried = substr((?3 - ?4) || ?5 || tried, 1, 6000)
WHERE seq IN (SELECT value FROM json_each(?1)) AND state = 0;

-- name: count-pending
-- Reads only the partial index of pending deliveries.
-- Result: sink, number.
SELECT l.sink, sum(c.n)
FROM (SELECT lane_id, count(*) AS n FROM deliveries WHERE state = 0 GROUP BY lane_id) AS c JOIN lanes l ON l.id = c.lane_id
GROUP BY l.sink;

-- name: oldest-pending
-- Finds the first pending delivery of each lane, and then the first of these in the lanes of a sink. It reads only this
-- delivery. For a push channel it reads the first entry of the index pushes_first. SQLite takes the other columns
-- beside min() from the row of the minimum.
-- Result: sink, since when its oldest pending delivery waits.
SELECT sink, since
FROM (SELECT f.sink,
             CASE WHEN EXISTS (SELECT 1 FROM pushes p WHERE p.seq = f.seq)
                  THEN (SELECT p.first_due FROM pushes p WHERE p.lane_id = f.lane_id AND p.due < 9223372036854775807 AND p.held = ''
                        ORDER BY p.first_due LIMIT 1)
                  ELSE (SELECT n.created_at FROM deliveries d JOIN notices n ON n.num = d.notice WHERE d.seq = f.seq) END AS since
      FROM (SELECT sink, lane_id, min(seq) AS seq
            FROM (SELECT l.sink, l.id AS lane_id, (SELECT d.seq FROM deliveries d WHERE d.lane_id = l.id AND d.state = 0 ORDER BY d.seq LIMIT 1) AS seq FROM lanes l)
            WHERE seq IS NOT NULL
            GROUP BY sink) AS f) AS o
WHERE since IS NOT NULL;

-- name: oldest-failed
-- Arguments: ?1 how many failed deliveries of each sink are read at most.
-- Result: sink, when the earliest of these deliveries failed.
SELECT f.sink, f.since
FROM (SELECT l.sink, (SELECT min(ended_at)
                      FROM (SELECT d.ended_at FROM deliveries d
                            WHERE d.state > 1 AND d.state = 2 AND d.lane_id IN (SELECT id FROM lanes WHERE sink = l.sink) LIMIT ?1)) AS since
      FROM (SELECT DISTINCT sink FROM lanes) AS l) AS f
WHERE f.since IS NOT NULL;

-- name: count-deliveries
-- Counts no further than the limit, so that the cost does not depend on how many deliveries are kept: each part reads
-- a stretch of its partial index only.
-- Arguments: ?1 limit.
-- Result: sink, state, number, which may be 0.
SELECT l.sink, s.state,
       (SELECT count(*)
        FROM (SELECT 1 FROM deliveries d WHERE s.state = 0 AND d.state = 0 AND d.lane_id IN (SELECT id FROM lanes WHERE sink = l.sink)
              UNION ALL SELECT 1 FROM deliveries d WHERE s.state = 1 AND d.state = 1 AND d.lane_id IN (SELECT id FROM lanes WHERE sink = l.sink)
              UNION ALL SELECT 1 FROM deliveries d
                        WHERE s.state > 1 AND d.state > 1 AND d.state = s.state AND d.lane_id IN (SELECT id FROM lanes WHERE sink = l.sink)
              LIMIT ?1))
FROM (SELECT DISTINCT sink FROM lanes) AS l
CROSS JOIN (SELECT 0 AS state UNION ALL VALUES (1), (2), (3), (4)) AS s;

-- name: index-state
-- Arguments: ?1 sink, ?2 now.
-- Result: epoch, run ids (JSON), building, node, rest of the lease in µs.
SELECT epoch, run_ids, building, node, lease_until - ?2 FROM inbox_states WHERE sink = ?1;

-- name: first-epoch
-- Arguments: ?1 sink, ?2 epoch, ?3 run ids, ?4 node, ?5 lease in µs, ?6 now.
-- Result: the number of rows, 0 = the sink has an epoch.
INSERT INTO inbox_states (sink, epoch, run_ids, building, node, lease_until) VALUES (?1, ?2, ?3, 1, ?4, ?6 + ?5)
ON CONFLICT (sink) DO NOTHING;

-- name: next-epoch
-- Arguments: ?1 sink, ?2 epoch, ?3 run ids, ?4 node, ?5 lease in µs, ?6 now, ?7 the epoch before.
-- Result: the number of rows, 0 = fenced.
UPDATE inbox_states SET epoch = ?2, run_ids = ?3, building = 1, node = ?4, lease_until = ?6 + ?5
WHERE sink = ?1 AND epoch = ?7 AND NOT (building AND node <> ?4 AND lease_until > ?6);

-- name: finish-epoch
-- Arguments: ?1 sink, ?2 epoch.
-- Result: the number of rows, 0 = fenced.
UPDATE inbox_states SET building = 0 WHERE sink = ?1 AND epoch = ?2;

-- name: highest-scores
-- Arguments: ?1 sink.
-- Result: warehouse, score.
SELECT l.warehouse, (SELECT max(d.score) FROM deliveries d WHERE d.lane_id = l.id AND d.state = 1) AS score
FROM lanes l WHERE l.sink = ?1 AND score IS NOT NULL;

-- name: delivered
-- Arguments: ?1 lane, ?2 score to start after, ?3 limit, ?4 now.
-- Result: seq, score, recipients, body, by score.
SELECT d.seq, d.score, d.recipients, n.body
FROM deliveries d JOIN notices n ON n.num = d.notice
WHERE d.lane_id = ?1 AND d.state = 1 AND d.score > ?2 AND d.expires_at > ?4
ORDER BY d.score LIMIT ?3;
