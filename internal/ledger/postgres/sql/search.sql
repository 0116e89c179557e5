-- How operators search notices, findings, items and runs. A search reads notices in their order, the latest first. A
-- leading statement lists the notices by an index, and looked-at then returns the notices that may match.
-- Arguments of the leading statements: $1 the earliest created_at; $2 … $4 created_at, first_seq and id, all notices
-- come before this place; $5 limit. Result of the leading statements: created_at, first_seq, id. Warehouse '' and
-- priority 0 mean unknown.

-- name: in-order
-- Leaves only plans that read an index in the order of the search. With these settings the plan looks so costly that
-- the server would compile it, so jit is off. The plan must be made for the actual arguments.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true), set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true);

-- name: search
-- $6 warehouses, $7 types, none = any; $8 rule, '' = any; $9 priority at least. It reads the index alone, however far
-- back it has to look.
SELECT n.created_at, n.first_seq, n.id FROM notices n
WHERE n.created_at >= $1::bigint AND (n.created_at, n.first_seq, n.id) < ($2, $3::bigint, $4)
  AND (cardinality($6::text[]) = 0 OR n.warehouse = ANY ($6::text[]) OR n.warehouse = '')
  AND (cardinality($7::text[]) = 0 OR n.type = ANY ($7::text[]))
  AND ($8 = '' OR n.rule = $8)
  AND (n.priority >= $9 OR n.priority = 0)
ORDER BY n.created_at DESC, n.first_seq DESC, n.id DESC LIMIT $5;

-- name: search-oldest
-- As search, in the other order: $1 end of created_at (excluded), $2 … $4 all notices come after this place.
SELECT n.created_at, n.first_seq, n.id FROM notices n
WHERE n.created_at < $1::bigint AND (n.created_at, n.first_seq, n.id) > ($2, $3::bigint, $4)
  AND (cardinality($6::text[]) = 0 OR n.warehouse = ANY ($6::text[]) OR n.warehouse = '')
  AND (cardinality($7::text[]) = 0 OR n.type = ANY ($7::text[]))
  AND ($8 = '' OR n.rule = $8)
  AND (n.priority >= $9 OR n.priority = 0)
ORDER BY n.created_at, n.first_seq, n.id LIMIT $5;

-- name: search-finding-oldest
-- search-finding in the other order.
SELECT n.created_at, n.first_seq, n.id FROM notices n
WHERE n.finding = $6 AND n.created_at < $1::bigint AND (n.created_at, n.first_seq, n.id) > ($2, $3::bigint, $4)
ORDER BY n.created_at, n.first_seq, n.id LIMIT $5;

-- name: search-finding
-- $6 the number of the finding.
SELECT n.created_at, n.first_seq, n.id FROM notices n
WHERE n.finding = $6 AND n.created_at >= $1::bigint AND (n.created_at, n.first_seq, n.id) < ($2, $3::bigint, $4)
ORDER BY n.created_at DESC, n.first_seq DESC, n.id DESC LIMIT $5;

-- name: looked-at
-- Arguments: $1 ids; $2 warehouses, $3 types, $4 statuses, none = any; $5 rule, $6 a part of the key, empty = any; $7
-- lowest priority; $8 texts, none = any.
-- Result: id and body of the notices that may match.
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
-- Finds the end of one step through the open findings.
-- Arguments: $1, $2 scope and hash of the last finding of the step before, $3 length of a step.
-- Result: scope and hash of the last finding of this step; no row if there are fewer.
SELECT scope_id, key_hash::text FROM findings WHERE (scope_id, key_hash) > ($1::integer, $2::text::uuid)
ORDER BY scope_id, key_hash OFFSET $3::bigint - 1 LIMIT 1;

-- name: find-findings
-- Arguments: $1, $2 as in looked-findings; $3, $4 scope and hash of the last finding to read; $5 texts; $6
-- warehouses, null = all; $7 limit.
-- Result: rule, scope and warehouse of open findings with one of the texts in the key or the last row, and the
-- columns of findings.
SELECT s.rule, s.scope, CASE WHEN f.warehouse = '' THEN s.scope ELSE f.warehouse END,
       f.key, f.phase, f.episode, f.since_clock, f.absent_since, f.firing_since, f.priority, f.last_notified, f.ordinal,
       f.notice_id, f.group_key, f.silenced, f.watched, f.baseline, f.term
FROM findings f JOIN rule_scopes s ON s.id = f.scope_id
WHERE (f.scope_id, f.key_hash) > ($1::integer, $2::text::uuid) AND (f.scope_id, f.key_hash) <= ($3::integer, $4::text::uuid)
  AND ($6::text[] IS NULL OR CASE WHEN f.warehouse = '' THEN s.scope ELSE f.warehouse END = ANY ($6))
  AND EXISTS (SELECT FROM unnest($5::text[]) AS t WHERE position(t IN f.key) > 0 OR position(convert_to(t, 'UTF8') IN f.last_row) > 0)
ORDER BY f.scope_id, f.key_hash LIMIT $7;

-- name: keyed-findings
-- Arguments: $1 hashes of whole keys, $2 warehouses, null = all, $3 limit.
-- Result: open findings with one of these keys, as in find-findings.
SELECT s.rule, s.scope, CASE WHEN f.warehouse = '' THEN s.scope ELSE f.warehouse END,
       f.key, f.phase, f.episode, f.since_clock, f.absent_since, f.firing_since, f.priority, f.last_notified, f.ordinal,
       f.notice_id, f.group_key, f.silenced, f.watched, f.baseline, f.term
FROM rule_scopes s CROSS JOIN LATERAL (SELECT * FROM findings f WHERE f.scope_id = s.id AND f.key_hash = ANY ($1::text[]::uuid[]) OFFSET 0) AS f
WHERE $2::text[] IS NULL OR CASE WHEN f.warehouse = '' THEN s.scope ELSE f.warehouse END = ANY ($2)
ORDER BY s.id, f.key_hash LIMIT $3;

-- name: find-items
-- Arguments: $1 queue, $2 seq to start below, $3 the lowest seq, $4 texts, $5 warehouses, null = all, $6 limit.
-- Result: items as in item with one of the texts in the dedupe key, the subject or the payload, the latest push
-- first.
SELECT i.seq, i.id, i.priority, i.payload, i.dedupe_key, i.created_at, i.ready_at, i.until_at, i.bucket, i.subject, i.pushed_by, i.node,
       i.warehouse, i.service_order, coalesce(o.state, ''), coalesce(o.moves, 0), coalesce(o.attempt, 0), coalesce(o.failures, 0), coalesce(o.suspends, 0),
       coalesce(o.due, 0), coalesce(o.assignee, ''), coalesce(o.news, '')
FROM items i LEFT JOIN open_items o ON o.queue_id = i.queue_id AND o.seq = i.seq
WHERE i.queue_id = $1 AND i.seq < $2 AND i.seq >= $3 AND ($5::text[] IS NULL OR i.warehouse = ANY ($5))
  AND EXISTS (SELECT FROM unnest($4::text[]) AS t
              WHERE position(t IN i.dedupe_key) > 0 OR position(t IN i.subject) > 0 OR position(convert_to(t, 'UTF8') IN i.payload) > 0)
ORDER BY i.seq DESC LIMIT $6;

-- name: run-at
-- Arguments: $1 rule, $2 scope, $3 time.
-- Result: up to two records, as in runs: the latest one whose last run had started by then, and the first one whose
-- last run started later. One of them contains the latest run that had started by then and was not skipped.
SELECT f.rule, f.scope, f.term, f.due, f.node, f.started_at, f.duration, f.outcome, f.row_count, f.matched, f.errored, f.pending,
       f.firing, f.notices, f.unsubscribed, f.strays, f.error, f.samples, f.last_due, f.earlier
FROM (SELECT * FROM (SELECT * FROM all_firings WHERE rule = $1 AND scope = $2 AND started_at <= $3 AND outcome <> 'skipped'
                     ORDER BY started_at DESC, term DESC, due DESC LIMIT 1) AS before
      UNION ALL
      SELECT * FROM (SELECT * FROM all_firings WHERE rule = $1 AND scope = $2 AND started_at > $3 AND outcome <> 'skipped'
                     ORDER BY term, due LIMIT 1) AS behind) AS f;
