-- Counts and samples for dashboards and charts.

-- name: count-notices
-- Reads only the index by time of creation.
-- Arguments: ?1 from, ?2 to (µs, excluded), ?3 length of a part (µs), ?4 a type that does not count.
-- Result: start of the part, a multiple of its length; warehouse; type; number of notices; number of notices with
-- priority 4 or 5.
SELECT n.created_at / ?3 * ?3, n.warehouse, n.type, count(*), count(*) FILTER (WHERE n.priority >= 4)
FROM notices n WHERE n.created_at >= ?1 AND n.created_at < ?2 AND n.type <> ?4
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- name: count-findings
-- Open findings by the warehouse of the finding's notice, or by the scope where the finding has no notice.
-- Result: warehouse, number of firing findings, number of pending ones.
SELECT CASE WHEN f.warehouse = '' THEN s.scope ELSE f.warehouse END,
       coalesce(sum(f.n) FILTER (WHERE f.phase = 2), 0), coalesce(sum(f.n) FILTER (WHERE f.phase = 1), 0)
FROM (SELECT scope_id, warehouse, phase, count(*) AS n FROM findings GROUP BY scope_id, warehouse, phase) AS f
JOIN rule_scopes s ON s.id = f.scope_id
GROUP BY 1 ORDER BY 1;

-- name: count-rule-findings
-- Open findings by warehouse, as in count-findings, and by rule.
-- Result: warehouse, rule, number of firing findings, number of pending ones.
SELECT CASE WHEN f.warehouse = '' THEN s.scope ELSE f.warehouse END, s.rule,
       coalesce(sum(f.n) FILTER (WHERE f.phase = 2), 0), coalesce(sum(f.n) FILTER (WHERE f.phase = 1), 0)
FROM (SELECT scope_id, warehouse, phase, count(*) AS n FROM findings GROUP BY scope_id, warehouse, phase) AS f
JOIN rule_scopes s ON s.id = f.scope_id
GROUP BY 1, 2 ORDER BY 1, 2;

-- name: waiting-deliveries
-- The oldest pending deliveries, without deliveries that are not due yet or that a silence holds back.
-- Arguments: ?1 now, ?2 how many at most.
-- Result: warehouse, type, since when the delivery waits.
SELECT n.warehouse, n.type, coalesce(p.first_due, n.created_at)
FROM deliveries d CROSS JOIN notices n ON n.num = d.notice LEFT JOIN pushes p ON p.seq = d.seq
WHERE d.state = 0 AND coalesce(p.first_due, n.created_at) <= ?1 AND coalesce(p.held, '') = ''
ORDER BY d.seq LIMIT ?2;

-- name: claim-sample
-- Arguments: ?1 step, ?2 start.
-- Result: the number of rows, 0 = another node has claimed or recorded the sample.
INSERT INTO samples (step, start, taken, figures) VALUES (?1, ?2, 0, '') ON CONFLICT (step, start) DO NOTHING;

-- name: record-sample
-- A recorded sample stays as it is.
-- Arguments: ?1 step, ?2 start, ?3 taken, ?4 figures.
INSERT INTO samples (step, start, taken, figures) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (step, start) DO UPDATE SET taken = excluded.taken, figures = excluded.figures WHERE samples.figures = '';

-- name: samples
-- Arguments: ?1 step, ?2 from, ?3 to (excluded).
-- Result: start, taken, figures of the recorded samples, in the order of start.
SELECT start, taken, figures FROM samples WHERE step = ?1 AND start >= ?2 AND start < ?3 AND figures <> '' ORDER BY start;

-- name: last-sample
-- Arguments: ?1 step.
-- Result: start of the latest recorded sample, 0 = none.
SELECT coalesce(max(start), 0) FROM samples WHERE step = ?1 AND figures <> '';

-- name: prune-samples
-- Arguments: ?1 step, ?2 before.
DELETE FROM samples WHERE step = ?1 AND start < ?2;
