-- Silences, and what they hold back.

-- name: add-silence
-- Arguments: ?1 … ?10 in the order of the columns.
-- Result: the number of rows, 0 = the id exists.
INSERT INTO silences (id, matchers, from_at, until_at, cron, timezone, duration, comment, author, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING;

-- name: end-silence
-- Arguments: ?1 id, ?2 when, ?3 by whom.
-- Result: the number of rows, 0 = the silence ended before, or does not exist.
UPDATE silences SET ended_at = ?2, ended_by = ?3 WHERE id = ?1 AND ended_at = 0 AND (until_at = 0 OR until_at > ?2);

-- name: silences
-- Arguments: ?1 id, '' = all.
-- Result: the columns of codec.Silence, the latest first.
SELECT id, matchers, from_at, until_at, cron, timezone, duration, comment, author, created_at, ended_at, ended_by, events
FROM silences WHERE ?1 = '' OR id = ?1 ORDER BY created_at DESC, id;

-- name: silenced-findings
-- Result: ids of silences, separated by spaces, and how many findings all of these hold back.
SELECT silenced, count(*) FROM findings WHERE silenced <> '' GROUP BY silenced;

-- name: silenced-pushes
-- Arguments: ?1 now.
-- Result: id of a silence, and how many deliveries it holds back.
SELECT held, count(*) FROM pushes WHERE held <> '' AND due IS NOT NULL AND due = held_until AND due > ?1 GROUP BY held;

-- name: count-events
-- Arguments: ?1 id, ?2 how many.
UPDATE silences SET events = events + ?2 WHERE id = ?1;

-- name: settle-hold
-- Puts off a delivery that a silence holds back, unless the silence has been ended.
-- Arguments: ?1 seq, ?2 token, ?3 until when, ?4 silence, ?5 now.
UPDATE pushes
SET due = CASE WHEN EXISTS (SELECT 1 FROM silences WHERE id = ?4 AND ended_at = 0) THEN ?3 ELSE ?5 END,
    held = CASE WHEN EXISTS (SELECT 1 FROM silences WHERE id = ?4 AND ended_at = 0) THEN ?4 ELSE '' END,
    held_until = ?3, until = 0, node = ''
WHERE seq = ?1 AND token = ?2 AND node <> '' AND due IS NOT NULL;

-- name: let-go
-- Makes all deliveries due that the silence holds back.
-- Arguments: ?1 id, ?2 now.
UPDATE pushes SET due = ?2, held = '' WHERE held = ?1 AND held <> '' AND due IS NOT NULL AND due = held_until;

-- name: prune-silences
-- Arguments: ?1 before.
-- Result: the number of rows.
DELETE FROM silences WHERE ended_at > 0 AND ended_at < ?1 OR until_at > 0 AND until_at < ?1;
