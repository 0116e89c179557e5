-- Findings with their notices and deliveries, and the plans of probes.

-- name: finding
-- Arguments: ?1 rule, ?2 scope, ?3 key (bytes), ?4 its hash.
-- Result: the open finding as in findings, its row and the row's due time.
SELECT f.key, f.phase, f.episode, f.since_clock, f.absent_since, f.firing_since, f.priority, f.last_notified, f.ordinal,
       f.notice_id, f.group_key, f.silenced, f.watched, f.baseline, f.term, f.last_row, f.row_due
FROM findings f JOIN rule_scopes s ON s.id = f.scope_id WHERE s.rule = ?1 AND s.scope = ?2 AND f.key_hash = ?4 AND f.key = CAST(?3 AS TEXT);

-- name: trace
-- Arguments: ?1 numbers of findings (JSON), ?2 ids (JSON), ?3 limit.
-- Result: the bodies of notices, the latest first. Some of the notices may belong to other findings.
SELECT body FROM notices
WHERE finding IN (SELECT value FROM json_each(?1)) OR id IN (SELECT value FROM json_each(?2))
ORDER BY created_at DESC, num DESC LIMIT ?3;

-- name: trace-deliveries
-- Arguments: ?1 ids of notices (JSON).
-- Result: their deliveries, in the order of seq.
SELECT n.id, d.seq, l.sink, l.warehouse, d.state, d.attempts, d.last_error, CASE WHEN d.state = 1 THEN d.ended_at ELSE 0 END, d.recipients
FROM notices n JOIN deliveries d ON d.notice = n.num JOIN lanes l ON l.id = d.lane_id
WHERE n.id IN (SELECT value FROM json_each(?1)) ORDER BY d.seq;

-- name: last-plan
-- Arguments: ?1 rule, ?2 scope.
-- Result: one row or none.
SELECT checksum, cost, shape, asked_at, before_cost, before_shape, before_until FROM probe_plans WHERE rule = ?1 AND scope = ?2;

-- name: record-plan
-- Arguments: ?1 … ?9 in the order of the columns.
INSERT INTO probe_plans (rule, scope, checksum, cost, shape, asked_at, before_cost, before_shape, before_until)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (rule, scope) DO UPDATE
SET checksum = excluded.checksum, cost = excluded.cost, shape = excluded.shape, asked_at = excluded.asked_at,
    before_cost = excluded.before_cost, before_shape = excluded.before_shape, before_until = excluded.before_until;
