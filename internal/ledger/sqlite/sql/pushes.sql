-- Deliveries to push channels.

-- name: due-pushes
-- Arguments: ?1 lane, ?2 now, ?3 limit.
-- Result: the numbers of the deliveries that may be claimed, the earliest first (JSON).
SELECT json_group_array(seq)
FROM (SELECT p.seq FROM pushes p JOIN deliveries d ON d.seq = p.seq AND d.state = 0
      WHERE p.lane_id = ?1 AND p.due <= ?2 AND +p.ends > ?2 AND p.until <= ?2 ORDER BY p.due, p.seq LIMIT ?3);

-- name: claim-pushes
-- Arguments: ?1 seqs (JSON), ?2 node, ?3 end of the lease.
UPDATE pushes SET until = ?3, token = token + 1, node = ?2 WHERE seq IN (SELECT value FROM json_each(?1));

-- name: claimed-pushes
-- Arguments: ?1 seqs (JSON).
-- Result: the columns of codec.ClaimRow and the body of the notice, in the order of the list.
SELECT p.seq, p.token, p.deadline, d.attempts - p.forgiven, d.attempts, d.recipients, p.kind, p.unless, p.delay, p.at, p.within, p.retry,
       d.expires_at = 9223372036854775807, n.body
FROM json_each(?1) c
CROSS JOIN pushes p ON p.seq = c.value
CROSS JOIN deliveries d ON d.seq = p.seq
CROSS JOIN notices n ON n.num = d.notice
ORDER BY c.key;

-- name: release-pushes
-- Frees deliveries that the node has claimed but does not know of. A claimed delivery was due; one minute more covers
-- the difference between the clocks of nodes.
-- Arguments: ?1 lane, ?2 node, ?3 numbers that the node knows (JSON), ?4 now.
UPDATE pushes SET until = 0, node = ''
WHERE seq IN (SELECT p.seq FROM pushes p WHERE p.lane_id = ?1 AND p.due <= ?4 + 60000000 AND p.node = ?2
              AND p.seq NOT IN (SELECT value FROM json_each(?3)));

-- name: next-push
-- Arguments: ?1 lane, ?2 now.
-- Result: when the next open delivery may be claimed, 0 = none. If the first unclaimed delivery is due later, all due
-- deliveries are claimed. Then the end of a lease may come first.
SELECT coalesce(CASE WHEN f.due <= ?2 THEN f.due
                     ELSE (SELECT min(at) FROM (SELECT f.due AS at
                           UNION ALL SELECT min(p.until) FROM pushes p
                                     WHERE p.lane_id = ?1 AND p.due <= ?2 AND +p.ends > ?2 AND p.until > ?2)) END, 0)
FROM (SELECT (SELECT p.due FROM pushes p WHERE p.lane_id = ?1 AND p.due > 0 AND +p.ends > ?2 AND p.until <= ?2
              ORDER BY p.due, p.seq LIMIT 1) AS due) AS f;

-- name: settle-sent
-- Arguments: ?1 settlements (JSON: [[seq, µs since the attempt began, the attempt], …]), ?2 now.
UPDATE deliveries AS d
SET state = 1, attempts = d.attempts + 1, ended_at = ?2, last_error = '', tried = substr((?2 - s.ago) || s.attempt || d.tried, 1, 6000)
FROM (SELECT value ->> 0 AS seq, value ->> 1 AS ago, value ->> 2 AS attempt FROM json_each(?1)) AS s
WHERE d.seq = s.seq AND d.state <> 1;

-- name: settle-again
-- Arguments: ?1 seq, ?2 token, ?3 when it is due again.
-- Result: the number of rows, 0 = the token is not that of a claim in force.
UPDATE pushes SET due = ?3, until = 0, node = '' WHERE seq = ?1 AND token = ?2 AND node <> '' AND due IS NOT NULL;

-- name: settle-release
-- Arguments: ?1 seq, ?2 token.
-- Result: the number of rows, 0 = the token is not that of a claim in force.
UPDATE pushes SET until = 0, node = '' WHERE seq = ?1 AND token = ?2 AND node <> '' AND due IS NOT NULL;

-- name: settle-failed
-- Arguments: ?1 seq, ?2 token.
-- Result: the number of rows, 0 = the token is not that of a claim in force.
UPDATE pushes SET due = NULL, until = 0, node = '' WHERE seq = ?1 AND token = ?2 AND node <> '' AND due IS NOT NULL;

-- name: cancel-deliveries
-- Arguments: ?1 seqs (JSON), ?2 reason.
UPDATE deliveries SET state = 4, last_error = ?2 WHERE seq IN (SELECT value FROM json_each(?1)) AND state = 0;

-- name: end-waiting
-- Arguments: ?1 seqs (JSON).
UPDATE pushes SET due = NULL, until = 0, node = '' WHERE seq IN (SELECT value FROM json_each(?1)) AND due IS NOT NULL;

-- name: release-next
-- For each finding whose open deliveries all wait, makes the first of them due.
-- Arguments: ?1 seqs of deliveries of these findings (JSON), ?2 now.
UPDATE pushes AS n SET due = max(n.first_due, ?2)
WHERE n.due = 9223372036854775807
  AND n.seq IN (
      SELECT (SELECT o.seq FROM pushes o
              WHERE o.due IS NOT NULL AND o.finding = e.finding AND o.lane_id = e.lane_id AND o.addressee = e.addressee
              ORDER BY o.seq LIMIT 1)
      FROM json_each(?1) j CROSS JOIN pushes e ON e.seq = j.value AND e.finding IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM pushes o
                  WHERE o.finding = n.finding AND o.lane_id = n.lane_id AND o.addressee = n.addressee
                    AND o.due < 9223372036854775807);

-- name: over-pushes
-- Deliveries past their deadline, or whose notice has expired.
-- Arguments: ?1 lane, ?2 limit, ?3 now.
-- Result: seq, and whether the deadline has passed; otherwise the notice has expired.
SELECT p.seq, p.deadline = p.ends FROM pushes p
WHERE p.lane_id = ?1 AND p.due IS NOT NULL AND p.ends <= ?3 ORDER BY p.ends LIMIT ?2;

-- name: time-out
-- Arguments: ?1 seqs (JSON).
-- Result: the number of rows.
UPDATE deliveries
SET state = 3, last_error = CASE WHEN last_error = '' THEN 'the deadline passed before the first attempt' ELSE last_error END
WHERE seq IN (SELECT value FROM json_each(?1)) AND state = 0;

-- name: push-failed
-- Arguments: ?1 seq, ?2 error, ?3 µs since the attempt began, ?4 the attempt, ?5 now.
UPDATE deliveries
SET state = 2, ended_at = ?5, attempts = attempts + 1, last_error = ?2, tried = substr((?5 - ?3) || ?4 || tried, 1, 6000)
WHERE seq = ?1 AND state = 0;

-- name: push-attempt
-- Arguments: ?1 seq, ?2 error, ?3 µs since the attempt began, ?4 the attempt, ?5 now.
UPDATE deliveries SET attempts = attempts + 1, last_error = ?2, tried = substr((?5 - ?3) || ?4 || tried, 1, 6000)
WHERE seq = ?1 AND state = 0;

-- name: push-cut-off
-- Keeps an attempt that does not count.
-- Arguments: ?1 seq, ?2 µs since the attempt began, ?3 the attempt, ?4 now.
UPDATE deliveries SET tried = substr((?4 - ?2) || ?3 || tried, 1, 6000) WHERE seq = ?1 AND state = 0;
