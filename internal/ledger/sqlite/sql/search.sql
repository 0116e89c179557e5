-- How operators search notices, findings, items and runs. A search reads notices in their order, the latest first. A
-- leading statement lists the notices by an index, and looked-at then returns the bodies of the notices that may match.
-- Arguments of the leading statements: ?1 the earliest created_at; ?2, ?3 created_at and num, all notices come before
-- this place; ?4 limit. Result of the leading statements: num. Warehouse '' and priority 0 mean unknown.

-- name: search
-- ?5 warehouses, ?6 types (JSON), none = any; ?7 rule, '' = any; ?8 priority at least. It reads the index alone,
-- however far back it has to look.
SELECT num FROM notices WHERE created_at >= ?1 AND (created_at, num) < (?2, ?3)
  AND (?5 = '[]' OR warehouse = '' OR warehouse IN (SELECT value FROM json_each(?5)))
  AND (?6 = '[]' OR type IN (SELECT value FROM json_each(?6)))
  AND (?7 = '' OR rule = ?7)
  AND (priority >= ?8 OR priority = 0)
ORDER BY created_at DESC, num DESC LIMIT ?4;

-- name: search-oldest
-- As search, in the other order: ?1 end of created_at (excluded), ?2, ?3 all notices come after this place.
SELECT num FROM notices WHERE created_at < ?1 AND (created_at, num) > (?2, ?3)
  AND (?5 = '[]' OR warehouse = '' OR warehouse IN (SELECT value FROM json_each(?5)))
  AND (?6 = '[]' OR type IN (SELECT value FROM json_each(?6)))
  AND (?7 = '' OR rule = ?7)
  AND (priority >= ?8 OR priority = 0)
ORDER BY created_at, num LIMIT ?4;

-- name: search-finding-oldest
-- search-finding in the other order.
SELECT num FROM notices WHERE finding = ?5 AND created_at < ?1 AND (created_at, num) > (?2, ?3)
ORDER BY created_at, num LIMIT ?4;

-- name: search-finding
-- ?5 the number of the finding.
SELECT num FROM notices WHERE finding = ?5 AND created_at >= ?1 AND (created_at, num) < (?2, ?3)
ORDER BY created_at DESC, num DESC LIMIT ?4;

-- name: looked-at
-- reversed: looked-at-oldest
-- Arguments: ?1 nums (JSON); ?2 warehouses, ?3 types, ?4 statuses (JSON), none = any; ?5 rule, ?6 a part of the key,
-- '' = any; ?7 lowest priority; ?8 texts (JSON), none = any.
-- Result: created_at, num, id; and the body of the notices that may match.
SELECT n.created_at, n.num, n.id,
       CASE WHEN (?2 = '[]' OR n.warehouse = '' OR n.warehouse IN (SELECT value FROM json_each(?2)))
             AND (?3 = '[]' OR n.type IN (SELECT value FROM json_each(?3)))
             AND (?4 = '[]' OR n.status IN (SELECT value FROM json_each(?4)))
             AND (?5 = '' OR n.rule = ?5)
             AND (n.priority >= ?7 OR n.priority = 0)
             AND (?6 = '' OR instr(n.body, CAST(?6 AS BLOB)) > 0)
             AND (?8 = '[]' OR EXISTS (SELECT 1 FROM json_each(?8) t WHERE instr(n.body, CAST(t.value AS BLOB)) > 0)) THEN n.body END
FROM json_each(?1) j CROSS JOIN notices n ON n.num = j.value
ORDER BY n.created_at DESC, n.num DESC;

-- name: looked-findings
-- Finds the end of one step through the open findings.
-- Arguments: ?1, ?2 scope and hash of the last finding of the step before, ?3 length of a step.
-- Result: scope and hash of the last finding of this step; no row if there are fewer.
SELECT scope_id, hex(key_hash) FROM findings WHERE (scope_id, key_hash) > (?1, unhex(?2, '-'))
ORDER BY scope_id, key_hash LIMIT 1 OFFSET ?3 - 1;

-- name: find-findings
-- Arguments: ?1, ?2 as in looked-findings; ?3, ?4 scope and hash of the last finding to read; ?5 texts (JSON); ?6
-- warehouses (JSON), null = all; ?7 limit.
-- Result: rule, scope and warehouse of open findings with one of the texts in the key or the last row, and the
-- columns of findings.
SELECT s.rule, s.scope, CASE WHEN f.warehouse = '' THEN s.scope ELSE f.warehouse END,
       f.key, f.phase, f.episode, f.since_clock, f.absent_since, f.firing_since, f.priority, f.last_notified, f.ordinal,
       f.notice_id, f.group_key, f.silenced, f.watched, f.baseline, f.term
FROM findings f JOIN rule_scopes s ON s.id = f.scope_id
WHERE (f.scope_id, f.key_hash) > (?1, unhex(?2, '-')) AND (f.scope_id, f.key_hash) <= (?3, unhex(?4, '-'))
  AND (?6 IS NULL OR CASE WHEN f.warehouse = '' THEN s.scope ELSE f.warehouse END IN (SELECT value FROM json_each(?6)))
  AND EXISTS (SELECT 1 FROM json_each(?5) t WHERE instr(f.key, t.value) > 0 OR instr(f.last_row, CAST(t.value AS BLOB)) > 0)
ORDER BY f.scope_id, f.key_hash LIMIT ?7;

-- name: keyed-findings
-- Arguments: ?1 hashes of whole keys (JSON), ?2 warehouses (JSON), null = all, ?3 limit.
-- Result: open findings with one of these keys, as in find-findings.
SELECT s.rule, s.scope, CASE WHEN f.warehouse = '' THEN s.scope ELSE f.warehouse END,
       f.key, f.phase, f.episode, f.since_clock, f.absent_since, f.firing_since, f.priority, f.last_notified, f.ordinal,
       f.notice_id, f.group_key, f.silenced, f.watched, f.baseline, f.term
FROM rule_scopes s CROSS JOIN findings f ON f.scope_id = s.id AND f.key_hash IN (SELECT unhex(value) FROM json_each(?1))
WHERE ?2 IS NULL OR CASE WHEN f.warehouse = '' THEN s.scope ELSE f.warehouse END IN (SELECT value FROM json_each(?2))
ORDER BY s.id, f.key_hash LIMIT ?3;

-- name: find-items
-- Arguments: ?1 queue, ?2 seq to start below, ?3 the lowest seq, ?4 texts (JSON), ?5 warehouses (JSON), null = all,
-- ?6 limit.
-- Result: items as in item with one of the texts in the dedupe key, the subject or the payload, the latest push
-- first.
SELECT i.seq, i.id, i.priority, i.payload, i.dedupe_key, i.created_at, i.ready_at, i.until_at, i.bucket, i.subject, i.pushed_by, i.node,
       i.warehouse, i.service_order, coalesce(o.state, ''), coalesce(o.moves, 0), coalesce(o.attempt, 0), coalesce(o.failures, 0), coalesce(o.suspends, 0),
       coalesce(o.due, 0), coalesce(o.assignee, ''), coalesce(o.news, '')
FROM items i LEFT JOIN open_items o ON o.queue_id = i.queue_id AND o.seq = i.seq
WHERE i.queue_id = ?1 AND i.seq < ?2 AND i.seq >= ?3 AND (?5 IS NULL OR i.warehouse IN (SELECT value FROM json_each(?5)))
  AND EXISTS (SELECT 1 FROM json_each(?4) t
              WHERE instr(i.dedupe_key, t.value) > 0 OR instr(i.subject, t.value) > 0 OR instr(i.payload, CAST(t.value AS BLOB)) > 0)
ORDER BY i.seq DESC LIMIT ?6;

-- name: run-at
-- Arguments: ?1 rule, ?2 scope, ?3 time.
-- Result: up to two records, as in runs: the latest one whose last run had started by then, and the first one whose
-- last run started later. One of them contains the latest run that had started by then and was not skipped.
SELECT f.rule, f.scope, f.term, f.due, f.node, f.started_at, f.duration, f.outcome, f.row_count, f.matched, f.errored, f.pending,
       f.firing, f.notices, f.unsubscribed, f.strays, f.error, f.samples, f.last_due, f.earlier
FROM (SELECT * FROM (SELECT * FROM firings WHERE rule = ?1 AND scope = ?2 AND started_at <= ?3 AND outcome <> 'skipped'
                     ORDER BY started_at DESC, term DESC, due DESC LIMIT 1) AS before
      UNION ALL
      SELECT * FROM (SELECT * FROM firings WHERE rule = ?1 AND scope = ?2 AND started_at > ?3 AND outcome <> 'skipped'
                     ORDER BY term, due LIMIT 1) AS behind) AS f;
