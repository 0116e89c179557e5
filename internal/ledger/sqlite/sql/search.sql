-- What operators search for among notices. A search looks at notices in turn, the latest first: an index leads to them, and then
-- looked-at says more of them. Arguments of those that lead: ?1 made then or later, ?2, ?3 created_at and num that all come
-- before, ?4 how many at most. Result: num. A notice of before the columns has '' as its warehouse and 0 as its priority.

-- name: search
-- ?5 warehouses, ?6 types (JSON), none = any; ?7 rule, '' = any; ?8 priority at least. It reads the index alone, however far back it has to
-- look.
SELECT num FROM notices WHERE created_at >= ?1 AND (created_at, num) < (?2, ?3)
  AND (?5 = '[]' OR warehouse = '' OR warehouse IN (SELECT value FROM json_each(?5)))
  AND (?6 = '[]' OR type IN (SELECT value FROM json_each(?6)))
  AND (?7 = '' OR rule = ?7)
  AND (priority >= ?8 OR priority = 0)
ORDER BY created_at DESC, num DESC LIMIT ?4;

-- name: search-oldest
-- As search, in the other order: ?1 made before, ?2, ?3 created_at and num that all come after.
SELECT num FROM notices WHERE created_at < ?1 AND (created_at, num) > (?2, ?3)
  AND (?5 = '[]' OR warehouse = '' OR warehouse IN (SELECT value FROM json_each(?5)))
  AND (?6 = '[]' OR type IN (SELECT value FROM json_each(?6)))
  AND (?7 = '' OR rule = ?7)
  AND (priority >= ?8 OR priority = 0)
ORDER BY created_at, num LIMIT ?4;

-- name: search-finding-oldest
-- As search-finding, in the other order.
SELECT num FROM notices WHERE finding = ?5 AND created_at < ?1 AND (created_at, num) > (?2, ?3)
ORDER BY created_at, num LIMIT ?4;

-- name: search-finding
-- ?5 the number of the finding.
SELECT num FROM notices WHERE finding = ?5 AND created_at >= ?1 AND (created_at, num) < (?2, ?3)
ORDER BY created_at DESC, num DESC LIMIT ?4;

-- name: looked-at
-- reversed: looked-at-oldest
-- Arguments: ?1 nums (JSON), ?2 warehouses, ?3 types, ?4 statuses (JSON), none = any, ?5 rule, ?6 a part of the key, '' = any,
-- ?7 priority at least. Result: created_at, num, id; the body of those that may match.
SELECT n.created_at, n.num, n.id,
       CASE WHEN (?2 = '[]' OR n.warehouse = '' OR n.warehouse IN (SELECT value FROM json_each(?2)))
             AND (?3 = '[]' OR n.type IN (SELECT value FROM json_each(?3)))
             AND (?4 = '[]' OR n.status IN (SELECT value FROM json_each(?4)))
             AND (?5 = '' OR n.rule = ?5)
             AND (n.priority >= ?7 OR n.priority = 0)
             AND (?6 = '' OR instr(n.body, CAST(?6 AS BLOB)) > 0) THEN n.body END
FROM json_each(?1) j CROSS JOIN notices n ON n.num = j.value
ORDER BY n.created_at DESC, n.num DESC;

-- name: run-at
-- Arguments: ?1 rule, ?2 scope, ?3 time. Result: up to two records, as in runs. One of them has the latest run that had begun by then and was not skipped: the
-- first record whose last run began later may have it, too.
SELECT f.rule, f.scope, f.term, f.due, f.node, f.started_at, f.duration, f.outcome, f.row_count, f.matched, f.errored, f.pending,
       f.firing, f.notices, f.unsubscribed, f.strays, f.error, f.samples, f.last_due, f.earlier
FROM (SELECT * FROM (SELECT * FROM firings WHERE rule = ?1 AND scope = ?2 AND started_at <= ?3 AND outcome <> 'skipped'
                     ORDER BY started_at DESC, term DESC, due DESC LIMIT 1) AS before
      UNION ALL
      SELECT * FROM (SELECT * FROM firings WHERE rule = ?1 AND scope = ?2 AND started_at > ?3 AND outcome <> 'skipped'
                     ORDER BY term, due LIMIT 1) AS behind) AS f;
