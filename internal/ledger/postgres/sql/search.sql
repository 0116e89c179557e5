-- What operators search for among notices. A search looks at notices in turn, the latest first: an index leads to them, and then looked-at
-- gives those that may be meant. Arguments of those that lead: $1 made then or later, $2 … $4 created_at, first_seq and id
-- that all come before, $5 how many at most. Result: created_at, first_seq, id. A notice of before the columns has '' as its
-- warehouse and 0 as its priority.

-- name: in-order
-- What is off looks so costly to the planner that it would have the rest compiled; and it has to know what is asked for.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true), set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true);

-- name: search
-- $6 warehouses, $7 types, none = any; $8 rule, '' = any; $9 priority at least. It reads the index alone, however far back it has to look.
SELECT n.created_at, n.first_seq, n.id FROM notices n
WHERE n.created_at >= $1::bigint AND (n.created_at, n.first_seq, n.id) < ($2, $3::bigint, $4)
  AND (cardinality($6::text[]) = 0 OR n.warehouse = ANY ($6::text[]) OR n.warehouse = '')
  AND (cardinality($7::text[]) = 0 OR n.type = ANY ($7::text[]))
  AND ($8 = '' OR n.rule = $8)
  AND (n.priority >= $9 OR n.priority = 0)
ORDER BY n.created_at DESC, n.first_seq DESC, n.id DESC LIMIT $5;

-- name: search-oldest
-- As search, in the other order: $1 made before, $2 … $4 the place that all come after.
SELECT n.created_at, n.first_seq, n.id FROM notices n
WHERE n.created_at < $1::bigint AND (n.created_at, n.first_seq, n.id) > ($2, $3::bigint, $4)
  AND (cardinality($6::text[]) = 0 OR n.warehouse = ANY ($6::text[]) OR n.warehouse = '')
  AND (cardinality($7::text[]) = 0 OR n.type = ANY ($7::text[]))
  AND ($8 = '' OR n.rule = $8)
  AND (n.priority >= $9 OR n.priority = 0)
ORDER BY n.created_at, n.first_seq, n.id LIMIT $5;

-- name: search-finding-oldest
-- As search-finding, in the other order.
SELECT n.created_at, n.first_seq, n.id FROM notices n
WHERE n.finding = $6 AND n.created_at < $1::bigint AND (n.created_at, n.first_seq, n.id) > ($2, $3::bigint, $4)
ORDER BY n.created_at, n.first_seq, n.id LIMIT $5;

-- name: search-finding
-- $6 the number of the finding.
SELECT n.created_at, n.first_seq, n.id FROM notices n
WHERE n.finding = $6 AND n.created_at >= $1::bigint AND (n.created_at, n.first_seq, n.id) < ($2, $3::bigint, $4)
ORDER BY n.created_at DESC, n.first_seq DESC, n.id DESC LIMIT $5;

-- name: looked-at
-- Arguments: $1 ids, $2 warehouses, $3 types, $4 statuses, none = any; $5 rule, $6 a part of the key, empty = any;
-- $7 priority at least, $8 texts, none = any. Result: id and body of those that may match.
SELECT n.id, n.body FROM notices n
WHERE n.id = ANY ($1::text[])
  AND (cardinality($2::text[]) = 0 OR n.warehouse = ANY ($2::text[]) OR n.warehouse = '')
  AND (cardinality($3::text[]) = 0 OR n.type = ANY ($3::text[]))
  AND (cardinality($4::text[]) = 0 OR n.status = ANY ($4::text[]))
  AND ($5 = '' OR n.rule = $5)
  AND (n.priority >= $7 OR n.priority = 0)
  AND (octet_length($6::bytea) = 0 OR position($6::bytea IN n.body) > 0)
  AND (cardinality($8::bytea[]) = 0 OR EXISTS (SELECT FROM unnest($8::bytea[]) AS t WHERE position(t IN n.body) > 0));

-- name: looked-findings
-- Bounds a look at open findings. Arguments: $1, $2 scope and hash of the finding looked at last, $3 how many are looked at. Result: scope and hash of the
-- last of them; none if there are fewer.
SELECT scope_id, key_hash::text FROM findings WHERE (scope_id, key_hash) > ($1::integer, $2::text::uuid)
ORDER BY scope_id, key_hash OFFSET $3::bigint - 1 LIMIT 1;

-- name: find-findings
-- Arguments: $1, $2 as there, $3, $4 scope and hash of the last that is looked at, $5 texts, $6 warehouses, null = all, $7 limit. Result: rule, scope and
-- warehouse of open findings in whose key or last row one of the texts stands, and the columns of findings.
SELECT s.rule, s.scope, CASE WHEN f.warehouse = '' THEN s.scope ELSE f.warehouse END,
       f.key, f.phase, f.episode, f.since_clock, f.absent_since, f.firing_since, f.priority, f.last_notified, f.ordinal,
       f.notice_id, f.group_key, f.silenced, f.watched, f.baseline, f.term
FROM findings f JOIN rule_scopes s ON s.id = f.scope_id
WHERE (f.scope_id, f.key_hash) > ($1::integer, $2::text::uuid) AND (f.scope_id, f.key_hash) <= ($3::integer, $4::text::uuid)
  AND ($6::text[] IS NULL OR CASE WHEN f.warehouse = '' THEN s.scope ELSE f.warehouse END = ANY ($6))
  AND EXISTS (SELECT FROM unnest($5::text[]) AS t WHERE position(t IN f.key) > 0 OR position(convert_to(t, 'UTF8') IN f.last_row) > 0)
ORDER BY f.scope_id, f.key_hash LIMIT $7;

-- name: keyed-findings
-- Arguments: $1 hashes of whole keys, $2 warehouses, null = all, $3 limit. Result: open findings that have one of them, as in find-findings.
SELECT s.rule, s.scope, CASE WHEN f.warehouse = '' THEN s.scope ELSE f.warehouse END,
       f.key, f.phase, f.episode, f.since_clock, f.absent_since, f.firing_since, f.priority, f.last_notified, f.ordinal,
       f.notice_id, f.group_key, f.silenced, f.watched, f.baseline, f.term
FROM rule_scopes s CROSS JOIN LATERAL (SELECT * FROM findings f WHERE f.scope_id = s.id AND f.key_hash = ANY ($1::text[]::uuid[]) OFFSET 0) AS f
WHERE $2::text[] IS NULL OR CASE WHEN f.warehouse = '' THEN s.scope ELSE f.warehouse END = ANY ($2)
ORDER BY s.id, f.key_hash LIMIT $3;

-- name: find-items
-- Arguments: $1 queue, $2 seq to start below, $3 the lowest seq, $4 texts, $5 warehouses, null = all, $6 limit. Result: items as in item that have one of the
-- texts in their dedupe key, subject or payload, the latest push first.
SELECT i.seq, i.id, i.priority, i.payload, i.dedupe_key, i.created_at, i.ready_at, i.until_at, i.bucket, i.subject, i.pushed_by, i.node,
       i.warehouse, i.service_order, coalesce(o.state, ''), coalesce(o.moves, 0), coalesce(o.attempt, 0), coalesce(o.failures, 0), coalesce(o.suspends, 0),
       coalesce(o.due, 0), coalesce(o.assignee, ''), coalesce(o.news, '')
FROM items i LEFT JOIN open_items o ON o.queue_id = i.queue_id AND o.seq = i.seq
WHERE i.queue_id = $1 AND i.seq < $2 AND i.seq >= $3 AND ($5::text[] IS NULL OR i.warehouse = ANY ($5))
  AND EXISTS (SELECT FROM unnest($4::text[]) AS t
              WHERE position(t IN i.dedupe_key) > 0 OR position(t IN i.subject) > 0 OR position(convert_to(t, 'UTF8') IN i.payload) > 0)
ORDER BY i.seq DESC LIMIT $6;

-- name: run-at
-- Arguments: $1 rule, $2 scope, $3 time. Result: up to two records, as in runs. One of them has the latest run that had begun by then and was not skipped: the
-- first record whose last run began later may have it, too.
SELECT f.rule, f.scope, f.term, f.due, f.node, f.started_at, f.duration, f.outcome, f.row_count, f.matched, f.errored, f.pending,
       f.firing, f.notices, f.unsubscribed, f.strays, f.error, f.samples, f.last_due, f.earlier
FROM (SELECT * FROM (SELECT * FROM all_firings WHERE rule = $1 AND scope = $2 AND started_at <= $3 AND outcome <> 'skipped'
                     ORDER BY started_at DESC, term DESC, due DESC LIMIT 1) AS before
      UNION ALL
      SELECT * FROM (SELECT * FROM all_firings WHERE rule = $1 AND scope = $2 AND started_at > $3 AND outcome <> 'skipped'
                     ORDER BY term, due LIMIT 1) AS behind) AS f;
