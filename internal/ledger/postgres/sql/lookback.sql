-- The memory of rows that rules read again below their watermarks. Times are µs; positions are JSON, as watermarks
-- are.

-- name: look-back
-- Arguments: $1 rule, $2 scope.
-- Result: each row has the position where the next scan begins, the time when the last scan that read all rows began,
-- and one portion of seen rows: number, time, position, backlog, identity, hashes. The portions are in order.
-- Number 0 means no portion.
SELECT b.read_from, b.read_at, coalesce(r.n, 0), coalesce(r.seen_at, 0), coalesce(r.position, ''), coalesce(r.backlog, false),
       coalesce(r.identity, ''), coalesce(r.hashes, '')
FROM rule_scopes s
JOIN look_backs b ON b.scope_id = s.id
LEFT JOIN seen_rows r ON r.scope_id = s.id
WHERE s.rule = $1 AND s.scope = $2
ORDER BY r.n;

-- name: keep-look-back
-- Arguments: $1 scope id, $2 where the next scan begins, $3 when the last scan that read all rows began.
INSERT INTO look_backs AS b (scope_id, read_from, read_at) VALUES ($1, $2, $3)
ON CONFLICT (scope_id) DO UPDATE SET read_from = excluded.read_from, read_at = excluded.read_at;

-- name: add-seen-rows
-- Arguments: $1 scope id, $2 number, $3 time, $4 position, $5 backlog, $6 identity, $7 hashes.
INSERT INTO seen_rows (scope_id, n, seen_at, position, backlog, identity, hashes) VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: drop-seen-rows
-- Removes the portions up to a number.
-- Arguments: $1 scope id, $2 number.
DELETE FROM seen_rows WHERE scope_id = $1 AND n <= $2;

-- name: forget-look-back
-- Arguments: $1 scope id.
DELETE FROM look_backs WHERE scope_id = $1;

-- name: forget-seen-rows
-- Arguments: $1 scope id.
DELETE FROM seen_rows WHERE scope_id = $1;
