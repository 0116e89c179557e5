-- Who changed what.

-- name: add-change
-- Arguments: ?1 now, ?2 who, ?3 by which way, ?4 action, ?5 object, ?6 before, ?7 after, ?8 reason.
INSERT INTO audit (at, actor, via, action, object, before, after, reason)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

-- name: changes
-- Arguments: ?1 object or what it begins with, ?2 who, ?3 action or what it begins with, ?4 at or after, ?5 numbers below ('' or 0 = any
-- of each), ?6 limit. Result: the columns of rows.Change, the latest first.
SELECT seq, at, actor, via, action, object, coalesce(before, ''), coalesce(after, ''), reason
FROM audit
WHERE (?1 = '' OR object = ?1 OR substr(object, 1, length(?1) + 1) = ?1 || ':')
  AND (?2 = '' OR actor = ?2)
  AND (?3 = '' OR action = ?3 OR substr(action, 1, length(?3) + 1) = ?3 || '.')
  AND at >= ?4 AND (?5 = 0 OR seq < ?5)
ORDER BY seq DESC LIMIT ?6;
