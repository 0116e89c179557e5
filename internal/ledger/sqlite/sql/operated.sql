-- How operators list and change deliveries.

-- name: list-deliveries
-- reversed: list-deliveries-oldest
-- Arguments: ?1 sink, ?2 warehouse, ?3 type, ?4 rule, ?5 notice, '' = any; ?6 states (JSON), none = any; ?7 numbers
-- below this one, ?8 limit, ?9 now, ?10 only those that wait behind another or for a silence, ?11 numbers above this
-- one, ?12 a cause as in delivery-causes, '' = any. ?13, now of leases, is not used, because claims end by ?9.
-- Result: the columns of codec.DeliveryRecord, the latest first.
SELECT n.id, d.seq, l.sink, l.warehouse, d.state, d.attempts, d.last_error, CASE WHEN d.state = 1 THEN d.ended_at ELSE 0 END, d.recipients, n.body,
       coalesce(p.kind, ''), coalesce(p.unless, ''), coalesce(p.delay, 0), coalesce(p.at, 0), coalesce(p.within, 0), coalesce(p.retry, 0),
       d.expires_at = 9223372036854775807,
       iif(p.until > ?9, p.until, coalesce(p.due, 0)), coalesce(p.deadline, 0), coalesce(p.node, ''), coalesce(p.until > ?9, 0),
       CASE WHEN p.due = p.held_until AND p.due > ?9 THEN p.held ELSE '' END,
       CASE WHEN p.due = 9223372036854775807 THEN coalesce((
              SELECT min(f.seq) FROM pushes f
              WHERE f.finding = p.finding AND f.lane_id = p.lane_id AND f.addressee = p.addressee AND f.due < 9223372036854775807), 0)
            ELSE 0 END
FROM deliveries d
CROSS JOIN lanes l ON l.id = d.lane_id
CROSS JOIN notices n ON n.num = d.notice
LEFT JOIN pushes p ON p.seq = d.seq
WHERE d.seq < ?7
  AND (?1 = '' OR l.sink = ?1)
  AND (?2 = '' OR n.warehouse = ?2)
  AND (?3 = '' OR n.type = ?3)
  AND (?4 = '' OR n.rule = ?4)
  AND (?5 = '' OR d.seq IN (SELECT o.seq FROM notices m JOIN deliveries o ON o.notice = m.num WHERE m.id = ?5))
  AND (json_array_length(?6) = 0 OR d.state IN (SELECT value FROM json_each(?6)))
  AND d.seq > ?11 AND (?12 = '' OR ?12 =
       (SELECT CASE WHEN d.tried = '' THEN 'none' WHEN a.code = -1 THEN 'refused' WHEN a.code < 0 THEN 'refused:' || -a.code WHEN a.code > 0 THEN '' || a.code
                    WHEN d.last_error LIKE '%no answer within%' OR d.last_error LIKE '%timeout%' OR d.last_error LIKE '%deadline exceeded%' THEN 'timeout'
                    ELSE 'unanswered' END
        FROM (SELECT CAST(substr(d.tried, instr(d.tried, ' ') + 1 + instr(substr(d.tried, instr(d.tried, ' ') + 1), ' ')) AS INTEGER) AS code) AS a))
  AND (?10 = 0 OR p.until <= ?9 AND p.due > ?9 AND p.due IN (9223372036854775807, p.held_until))
ORDER BY d.seq DESC LIMIT ?8;

-- name: delivery-causes
-- Why deliveries failed or timed out, by the latest attempt: its status, which is negative where the receiver refused
-- for good, or its error where the receiver gave no status.
-- Arguments: ?1 how many are read of each sink and state, ?2 warehouse, '' = all.
-- Result: sink, state, cause, number, the latest delivery and its error.
SELECT sink, state, cause, count(*), max(seq), last_error
FROM (SELECT l.sink, d.seq, d.state, d.last_error, n.warehouse,
             row_number() OVER (PARTITION BY l.sink, d.state) AS place,
       (SELECT CASE WHEN d.tried = '' THEN 'none' WHEN a.code = -1 THEN 'refused' WHEN a.code < 0 THEN 'refused:' || -a.code WHEN a.code > 0 THEN '' || a.code
                    WHEN d.last_error LIKE '%no answer within%' OR d.last_error LIKE '%timeout%' OR d.last_error LIKE '%deadline exceeded%' THEN 'timeout'
                    ELSE 'unanswered' END
        FROM (SELECT CAST(substr(d.tried, instr(d.tried, ' ') + 1 + instr(substr(d.tried, instr(d.tried, ' ') + 1), ' ')) AS INTEGER) AS code) AS a) AS cause
      FROM lanes l CROSS JOIN deliveries d ON d.lane_id = l.id AND d.state > 1 AND d.state IN (2, 3) CROSS JOIN notices n ON n.num = d.notice)
WHERE place <= ?1 AND (?2 = '' OR warehouse = ?2)
GROUP BY sink, state, cause
ORDER BY count(*) DESC, sink, state, cause;

-- name: attempts
-- Arguments: ?1 seq.
-- Result: its last attempts.
SELECT tried FROM deliveries WHERE seq = ?1;

-- name: pending-deliveries
-- Arguments: ?1 seqs (JSON).
-- Result: the seqs of the pending deliveries (JSON).
SELECT json_group_array(seq) FROM (SELECT seq FROM deliveries WHERE seq IN (SELECT value FROM json_each(?1)) AND state = 0 ORDER BY seq);

-- name: hasten-pushes
-- Makes waiting unclaimed deliveries due at once. A delivery that waits behind another one stays there.
-- Arguments: ?1 seqs (JSON), ?2 now.
-- Result: their numbers.
UPDATE pushes AS p
SET first_due = min(p.first_due, ?2), due = CASE WHEN p.due = 9223372036854775807 THEN p.due ELSE min(p.due, ?2) END,
    forgiven = (SELECT d.attempts FROM deliveries d WHERE d.seq = p.seq)
WHERE p.seq IN (SELECT value FROM json_each(?1)) AND p.due IS NOT NULL AND p.ends > ?2 AND p.until <= ?2
RETURNING seq;

-- name: ended-deliveries
-- Arguments: ?1 seqs (JSON), ?2 now.
-- Result: seq and state of the deliveries that have ended unsent and can be tried again.
SELECT seq, state FROM deliveries
WHERE seq IN (SELECT value FROM json_each(?1)) AND state IN (2, 3, 4) AND expires_at > ?2;

-- name: revive-deliveries
-- Makes deliveries pending again that have ended unsent.
-- Arguments: ?1 seqs (JSON), ?2 now.
-- Result: their numbers.
UPDATE deliveries SET state = 0, last_error = CASE WHEN state = 4 THEN '' ELSE last_error END
WHERE seq IN (SELECT value FROM json_each(?1)) AND state IN (2, 3, 4) AND expires_at > ?2
RETURNING seq;

-- name: revive-pushes
-- Changes only deliveries that revive-deliveries has made pending.
-- Arguments: ?1 seqs (JSON), ?2 now.
UPDATE pushes AS p
SET due = CASE WHEN p.finding IS NULL THEN ?2 ELSE 9223372036854775807 END, first_due = ?2,
    deadline = CASE WHEN p.within > 0 THEN ?2 + p.within ELSE 0 END,
    ends = CASE WHEN p.within > 0 THEN min(d.expires_at, ?2 + p.within) ELSE d.expires_at END,
    until = 0, unless = '', node = '', forgiven = d.attempts
FROM deliveries d
WHERE p.seq IN (SELECT value FROM json_each(?1)) AND p.due IS NULL AND d.seq = p.seq AND d.state = 0;

-- name: line-up
-- Puts due and unclaimed deliveries behind an earlier open one of the same finding.
-- Arguments: ?1 seqs of deliveries of these findings (JSON), ?2 now.
UPDATE pushes AS n SET due = 9223372036854775807, until = 0, node = ''
WHERE n.seq IN (
        SELECT o.seq FROM json_each(?1) j
        CROSS JOIN pushes e ON e.seq = j.value AND e.finding IS NOT NULL
        JOIN pushes o ON o.finding = e.finding AND o.lane_id = e.lane_id AND o.addressee = e.addressee
                     AND o.due IS NOT NULL AND o.due < 9223372036854775807)
  AND n.until <= ?2
  AND EXISTS (SELECT 1 FROM pushes f
              WHERE f.due IS NOT NULL AND f.finding = n.finding AND f.lane_id = n.lane_id AND f.addressee = n.addressee AND f.seq < n.seq);

-- name: lanes-of
-- Arguments: ?1 seqs (JSON).
-- Result: sink and warehouse of their lanes, sorted.
SELECT DISTINCT l.sink, l.warehouse FROM deliveries d JOIN lanes l ON l.id = d.lane_id
WHERE d.seq IN (SELECT value FROM json_each(?1)) ORDER BY 1, 2;
