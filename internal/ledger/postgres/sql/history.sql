-- Findings with their notices and deliveries, and the plans of probes.

-- name: finding
-- Arguments: $1 rule, $2 scope, $3 key (bytes), $4 its hash.
-- Result: the open finding as in findings, its row and the row's due time.
SELECT f.key, f.phase, f.episode, f.since_clock, f.absent_since, f.firing_since, f.priority, f.last_notified, f.ordinal,
       f.notice_id, f.group_key, f.silenced, f.watched, f.baseline, f.term, f.last_row, f.row_due
FROM findings f JOIN rule_scopes s ON s.id = f.scope_id WHERE s.rule = $1 AND s.scope = $2 AND f.key_hash = encode($4::bytea, 'hex')::uuid AND f.key = convert_from($3::bytea, 'UTF8');

-- name: trace
-- Arguments: $1 numbers of findings, $2 ids, $3 limit.
-- Result: the bodies of notices, the latest first. Some of the notices may belong to other findings.
SELECT n.body FROM notices n WHERE n.finding = ANY($1::bigint[]) OR n.id = ANY($2::text[])
ORDER BY n.created_at DESC, n.first_seq DESC, n.id LIMIT $3;

-- name: trace-deliveries
-- Arguments: $1 ids of notices.
-- Result: their deliveries, in the order of seq.
SELECT d.notice_id, d.seq, l.sink, l.warehouse, d.state, d.attempts, d.last_error, CASE WHEN d.state = 1 THEN d.ended_at ELSE 0 END, d.recipients
FROM ledger_deliveries_of($1::text[]) d JOIN lanes l ON l.id = d.lane_id ORDER BY d.seq;

-- name: last-plan
-- Arguments: $1 rule, $2 scope.
-- Result: one row or none.
SELECT checksum, cost, shape, asked_at, before_cost, before_shape, before_until FROM probe_plans WHERE rule = $1 AND scope = $2;

-- name: record-plan
-- Arguments: $1 … $9 in the order of the columns.
INSERT INTO probe_plans (rule, scope, checksum, cost, shape, asked_at, before_cost, before_shape, before_until)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (rule, scope) DO UPDATE
SET checksum = excluded.checksum, cost = excluded.cost, shape = excluded.shape, asked_at = excluded.asked_at,
    before_cost = excluded.before_cost, before_shape = excluded.before_shape, before_until = excluded.before_until;
