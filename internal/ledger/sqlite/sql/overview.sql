-- What is counted for those who look on.

-- name: count-notices
-- Reads the index by the time of creation alone. Arguments: ?1 from, ?2 to (µs, not included), ?3 how long a part is (µs), ?4 a type that
-- does not count. Result: when the part begins, which is a multiple of its length; warehouse; how many notices were made in it; how many of priority 4 and 5.
SELECT n.created_at / ?3 * ?3, n.warehouse, count(*), count(*) FILTER (WHERE n.priority >= 4)
FROM notices n WHERE n.created_at >= ?1 AND n.created_at < ?2 AND n.type <> ?4
GROUP BY 1, 2 ORDER BY 1, 2;

-- name: count-findings
-- Open findings by warehouse: that of the finding's notice, else the scope. Result: warehouse, how many fire, how many are pending.
SELECT CASE WHEN f.warehouse = '' THEN s.scope ELSE f.warehouse END,
       coalesce(sum(f.n) FILTER (WHERE f.phase = 2), 0), coalesce(sum(f.n) FILTER (WHERE f.phase = 1), 0)
FROM (SELECT scope_id, warehouse, phase, count(*) AS n FROM findings GROUP BY scope_id, warehouse, phase) AS f
JOIN rule_scopes s ON s.id = f.scope_id
GROUP BY 1 ORDER BY 1;
