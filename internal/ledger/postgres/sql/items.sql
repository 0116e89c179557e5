-- The records of queues.
--
-- open_items grows and shrinks so fast that the planner's statistics are almost never true. A plan that was made for
-- three rows meets three hundred thousand rows, or as many dead rows. So the statements leave the planner no choice.
-- Statements for many items run after by-key. They look rows up in subqueries, which the planner never turns into
-- joins, and change rows by their ctid.

-- name: by-key
-- Makes the next statements of the transaction find their rows only by index and by ctid.
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);

-- name: queue
-- Arguments: $1 name.
-- Result: its id; no row if the queue is new.
SELECT id FROM queues WHERE name = $1;

-- name: add-queue
-- Arguments: $1 name, $2 sink.
INSERT INTO queues (name, sink) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING;

-- name: take-item-seqs
-- Arguments: $1 how many.
-- Result: that many numbers, ascending.
SELECT array_agg(n ORDER BY n) FROM (SELECT nextval('items_seq') AS n FROM generate_series(1, $1::integer)) AS s;

-- name: insert-items
-- Pushes new items in one statement. For a few items this costs less than COPY with its round trips. The rows are
-- sorted by id, so that two pushes of the same items cannot deadlock.
-- Arguments: $1 queue, then one array per column, all of the same length.
-- Result: their numbers, ascending.
WITH given AS MATERIALIZED (
    SELECT nextval('items_seq') AS seq, g.*
    FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::smallint[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
                $11::text[], $12::bytea[], $13::text[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[], $18::integer[],
                $19::integer[], $20::text[], $21::text[], $22::bigint[])
         AS g (created_at, ready_at, until_at, priority, id, bucket, dedupe_key, subject, pushed_by, node, payload,
               state, moves, due, subject_hash, attempt, failures, suspends, assignee, warehouse, service_order)),
kept AS (
    INSERT INTO items (seq, created_at, ready_at, until_at, queue_id, priority, id, bucket, dedupe_key, subject, pushed_by, node, payload,
                       warehouse, service_order)
    SELECT seq, created_at, ready_at, until_at, $1, priority, id, bucket, dedupe_key, subject, pushed_by, node, payload, warehouse, service_order
    FROM given ORDER BY id COLLATE "C"),
opened AS (
    INSERT INTO open_items (seq, moves, due, subject_hash, queue_id, attempt, failures, suspends, state, assignee)
    SELECT seq, moves, due, subject_hash, $1, attempt, failures, suspends, state, assignee FROM given)
SELECT seq FROM given ORDER BY seq;

-- name: known-items
-- Arguments: $1 queue, $2 ids.
-- Result: id, seq, the letter of the state and the warehouse of the existing items.
SELECT i.id, i.seq, coalesce(
    (SELECT state FROM open_items o WHERE o.queue_id = $1 AND o.seq = i.seq),
    (SELECT state FROM ended_early e WHERE e.queue_id = $1 AND e.state IN ('m' /* removed */, 'f' /* refused */) AND e.seq = i.seq), 'd' /* done */), i.warehouse
FROM items i WHERE i.queue_id = $1 AND i.id = ANY($2::text[]);

-- name: copy-items
COPY items (seq, created_at, ready_at, until_at, queue_id, priority, id, bucket, dedupe_key, subject, pushed_by, node, payload, warehouse, service_order)
FROM STDIN BINARY;

-- name: copy-open-items
COPY open_items (seq, moves, due, subject_hash, queue_id, attempt, failures, suspends, state, assignee) FROM STDIN BINARY;

-- name: copy-item-moves
COPY item_moves (seq, at, moves) FROM STDIN BINARY;

-- name: lock-queue
-- Until the commit, locks the queue against other calls that apply moves, and its epoch against changes.
-- Arguments: $1 queue.
-- Result: the epoch of the sink, the epoch and the position of the last moves; no row if the sink has no epoch.
SELECT s.epoch, q.epoch, q.position FROM queues q JOIN inbox_states s ON s.sink = q.sink WHERE q.id = $1
FOR NO KEY UPDATE OF q FOR SHARE OF s;

-- name: move-on
-- Arguments: $1 queue, $2 epoch, $3 position.
UPDATE queues SET epoch = $2, position = $3 WHERE id = $1;

-- name: applied
-- Arguments: $1 name, $2 epoch.
-- Result: the position; no row if nothing was applied in the epoch.
SELECT position FROM queues WHERE name = $1 AND epoch = $2;

-- name: change-items
-- Leaves out items that have moved on further.
-- Arguments: $1 queue, then one array per column.
UPDATE open_items o
SET moves = n.moves, state = n.state, attempt = n.attempt, failures = n.failures, suspends = n.suspends, due = n.due, assignee = n.assignee,
    news = n.news
FROM (SELECT (SELECT o.ctid FROM open_items o WHERE o.queue_id = $1 AND o.seq = c.seq AND o.moves < c.moves) AS place, c.*
      FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::integer[], $7::integer[], $8::bigint[], $9::text[],
                  $10::text[])
           AS c (seq, moves, state, attempt, failures, suspends, due, assignee, news) OFFSET 0) AS n
WHERE o.ctid = n.place;

-- name: revise-items
-- Comes before change-items and end-items. Leaves out items that have moved on further. A payload stays where its
-- source is 0 or no longer exists.
-- Arguments: $1 queue, then one array per column.
UPDATE items i SET priority = n.priority, service_order = n.service_order, payload = coalesce(n.payload, i.payload)
FROM (SELECT (SELECT i.ctid FROM items i WHERE i.queue_id = $1 AND i.seq = c.seq
                AND (SELECT o.moves FROM open_items o WHERE o.queue_id = $1 AND o.seq = c.seq) < c.moves) AS place,
             c.priority, c.service_order, (SELECT s.payload FROM items s WHERE s.queue_id = $1 AND s.seq = c.source) AS payload
      FROM unnest($2::bigint[], $3::bigint[], $4::smallint[], $5::bigint[], $6::bigint[])
           AS c (seq, moves, priority, service_order, source) OFFSET 0) AS n
WHERE i.ctid = n.place;

-- name: event-items
-- The state of items before the moves that may be events.
-- Arguments: $1 queue, $2 seqs, $3 now, $4 the number of moves for an ended item.
-- Result: the columns of codec.Events, by seq.
SELECT i.seq, i.id, i.warehouse, i.priority, i.service_order, i.payload, coalesce(o.moves, $4), coalesce(o.failures, 0), coalesce(o.assignee, ''),
       (SELECT ledger_now($3))
FROM items i
LEFT JOIN LATERAL (SELECT * FROM open_items o WHERE o.queue_id = $1 AND o.seq = i.seq OFFSET 0) AS o ON true
WHERE i.queue_id = $1 AND i.seq = ANY($2::bigint[]) ORDER BY i.seq;

-- name: end-items
-- Leaves out items that have moved on further.
-- Arguments: $1 queue, $2 seqs, $3 the numbers of their last moves.
DELETE FROM open_items WHERE ctid = ANY(ARRAY(
    SELECT (SELECT o.ctid FROM open_items o WHERE o.queue_id = $1 AND o.seq = n.seq AND o.moves < n.moves)
    FROM unnest($2::bigint[], $3::bigint[]) AS n (seq, moves)));

-- name: end-items-early
-- end-items for removed or refused items.
-- Arguments: as in end-items, $4 states.
WITH n AS MATERIALIZED (
    SELECT (SELECT o.ctid FROM open_items o WHERE o.queue_id = $1 AND o.seq = c.seq AND o.moves < c.moves) AS place, c.seq, c.state
    FROM unnest($2::bigint[], $3::bigint[], $4::text[]) AS c (seq, moves, state)),
ended AS (DELETE FROM open_items WHERE ctid = ANY(ARRAY(SELECT place FROM n)))
INSERT INTO ended_early (queue_id, state, seq) SELECT $1, state, seq FROM n WHERE place IS NOT NULL;

-- name: refuse-items
-- Arguments: $1 queue, $2 seqs.
-- Result: the state of the items that had not ended: seq, moves, state, attempt, failures, suspends, assignee.
WITH refused AS (
    DELETE FROM open_items WHERE ctid = ANY(ARRAY(
        SELECT (SELECT o.ctid FROM open_items o WHERE o.queue_id = $1 AND o.seq = n.seq) FROM unnest($2::bigint[]) AS n (seq)))
    RETURNING seq, moves, state, attempt, failures, suspends, assignee),
early AS (INSERT INTO ended_early (queue_id, state, seq) SELECT $1, 'f' /* refused */, seq FROM refused)
SELECT seq, moves, state, attempt, failures, suspends, assignee FROM refused;

-- name: unfinished-items
-- Arguments: $1 queue, $2 seq to start after, $3 limit.
-- Result: items in their present state, by seq.
SELECT i.seq, i.id, i.priority, i.payload, i.dedupe_key, i.created_at, i.ready_at, i.until_at, i.bucket, i.subject, i.pushed_by, i.node,
       i.warehouse, i.service_order, o.state, o.moves, o.attempt, o.failures, o.suspends, o.due, o.assignee, o.news
FROM (SELECT * FROM open_items WHERE queue_id = $1 AND seq > $2 ORDER BY seq LIMIT $3) AS o
CROSS JOIN LATERAL (SELECT * FROM items i WHERE i.queue_id = $1 AND i.seq = o.seq OFFSET 0) AS i
ORDER BY o.seq;

-- name: first-window
-- Where held-keys may begin.
-- Arguments: $1 queue, $2 now.
-- Result: the lowest seq with an open window, 0 = none.
SELECT coalesce(min(seq), 0) FROM items WHERE queue_id = $1 AND until_at > $2 AND until_at > 0;

-- name: held-keys
-- Arguments: $1 queue, $2 now, $3 seq to start after, $4 limit.
-- Result: seq, id, bucket, until of items that are done, by seq. The + 0 keeps PostgreSQL from sorting all open
-- windows for each page.
SELECT i.seq, i.id, i.bucket, i.until_at FROM items i
WHERE i.queue_id = $1 AND i.seq > $3 AND i.until_at + 0 > $2
  AND (SELECT o.seq FROM open_items o WHERE o.queue_id = $1 AND o.seq = i.seq) IS NULL
  AND (SELECT e.seq FROM ended_early e WHERE e.queue_id = $1 AND e.state IN ('m' /* removed */, 'f' /* refused */) AND e.seq = i.seq) IS NULL
ORDER BY i.seq LIMIT $4;

-- name: subject-items
-- Arguments: $1 queue, $2 hashes of the subjects, $3 subjects.
-- Result: positions of subjects, from 1, and ids of their unfinished items.
SELECT w.place, unnest(ARRAY(
  SELECT i.id FROM open_items o JOIN items i ON i.queue_id = o.queue_id AND i.seq = o.seq
  WHERE o.queue_id = $1 AND o.subject_hash = w.hash AND o.subject_hash <> 0 AND i.subject = w.subject ORDER BY o.seq))
FROM unnest($2::bigint[], $3::text[]) WITH ORDINALITY AS w (hash, subject, place);

-- name: item
-- Arguments: $1 queue, $2 id.
-- Result: the item as in unfinished-items; an ended one has no state.
SELECT i.seq, i.id, i.priority, i.payload, i.dedupe_key, i.created_at, i.ready_at, i.until_at, i.bucket, i.subject, i.pushed_by, i.node,
       i.warehouse, i.service_order, coalesce(o.state, ''), coalesce(o.moves, 0), coalesce(o.attempt, 0), coalesce(o.failures, 0), coalesce(o.suspends, 0),
       coalesce(o.due, 0), coalesce(o.assignee, ''), coalesce(o.news, '')
FROM items i LEFT JOIN open_items o ON o.queue_id = i.queue_id AND o.seq = i.seq
WHERE i.queue_id = $1 AND i.id = $2;

-- name: key-items
-- Arguments: $1 queue, $2 dedupe key, $3 seq to start below, $4 limit, $5 warehouses, null = all.
-- Result: items as in item, the latest push first.
SELECT i.seq, i.id, i.priority, i.payload, i.dedupe_key, i.created_at, i.ready_at, i.until_at, i.bucket, i.subject, i.pushed_by, i.node,
       i.warehouse, i.service_order, coalesce(o.state, ''), coalesce(o.moves, 0), coalesce(o.attempt, 0), coalesce(o.failures, 0), coalesce(o.suspends, 0),
       coalesce(o.due, 0), coalesce(o.assignee, ''), coalesce(o.news, '')
FROM items i LEFT JOIN open_items o ON o.queue_id = i.queue_id AND o.seq = i.seq
WHERE i.queue_id = $1 AND i.dedupe_key = $2 AND i.dedupe_key <> '' AND i.seq < $3 AND ($5::text[] IS NULL OR i.warehouse = ANY($5))
ORDER BY i.seq DESC LIMIT $4;

-- name: payload
-- Arguments: $1 queue, $2 seq.
-- Result: the payload of the item.
SELECT payload FROM items WHERE queue_id = $1 AND seq = $2;

-- name: forget-item
-- Removes the records of an item that begins another life.
-- Arguments: $1 queue, $2 seq.
WITH traces AS (DELETE FROM item_moves WHERE seq = $2),
early AS (DELETE FROM ended_early WHERE queue_id = $1 AND state IN ('m' /* removed */, 'f' /* refused */) AND seq = $2),
withheld AS (DELETE FROM withheld_items WHERE queue_id = $1 AND seq = $2)
DELETE FROM items WHERE queue_id = $1 AND seq = $2;

-- name: item-moves
-- Arguments: $1 seqs.
-- Result: seq and moves, by seq.
SELECT seq, moves FROM item_moves WHERE seq = ANY($1::bigint[]) ORDER BY seq;

-- name: last-moves
-- Arguments: $1 queue, $2 how many records of moves of all queues are read, $3 warehouses, null = all.
-- Result: seq and moves of the records that belong to the queue.
SELECT m.seq, m.moves
FROM (SELECT seq, moves FROM item_moves ORDER BY seq DESC LIMIT $2) AS m
JOIN items i ON i.queue_id = $1 AND i.seq = m.seq AND ($3::text[] IS NULL OR i.warehouse = ANY ($3));

-- name: looked-items
-- Finds the end of one step through the items of a queue.
-- Arguments: $1 queue, $2 seq to start below, $3 length of a step.
-- Result: the seq of the last item of the step; no row if there are fewer.
SELECT seq FROM items WHERE queue_id = $1 AND seq < $2 ORDER BY seq DESC OFFSET $3 - 1 LIMIT 1;

-- name: looked-early-items
-- looked-items for removed or refused items.
-- Arguments: as in looked-items, $4 state.
SELECT seq FROM ended_early WHERE queue_id = $1 AND state = $4 AND seq < $2 ORDER BY seq DESC OFFSET $3 - 1 LIMIT 1;

-- name: done-items
-- Arguments: $1 queue, $2 seq to start below, $3 limit, $4 the lowest seq, $5 warehouses, null = all.
-- Result: items, the latest push first.
SELECT i.seq, i.id, i.priority, i.payload, i.dedupe_key, i.created_at, i.ready_at, i.until_at, i.bucket, i.subject, i.pushed_by, i.node,
       i.warehouse, i.service_order
FROM items i
WHERE i.queue_id = $1 AND i.seq < $2 AND i.seq >= $4 AND ($5::text[] IS NULL OR i.warehouse = ANY($5))
  AND (SELECT o.seq FROM open_items o WHERE o.queue_id = $1 AND o.seq = i.seq) IS NULL
  AND (SELECT e.seq FROM ended_early e WHERE e.queue_id = $1 AND e.state IN ('m' /* removed */, 'f' /* refused */) AND e.seq = i.seq) IS NULL
ORDER BY i.seq DESC LIMIT $3;

-- name: early-items
-- Arguments: as in done-items, $6 state.
-- Result: as in done-items.
SELECT i.seq, i.id, i.priority, i.payload, i.dedupe_key, i.created_at, i.ready_at, i.until_at, i.bucket, i.subject, i.pushed_by, i.node,
       i.warehouse, i.service_order
FROM (SELECT seq FROM ended_early WHERE queue_id = $1 AND state = $6 AND seq < $2 AND seq >= $4 ORDER BY seq DESC
      LIMIT CASE WHEN $5::text[] IS NULL THEN $3::integer END) AS e
JOIN items i ON i.queue_id = $1 AND i.seq = e.seq
WHERE $5::text[] IS NULL OR i.warehouse = ANY($5)
ORDER BY i.seq DESC LIMIT $3;

-- name: queue-pause
-- Arguments: $1 queue.
-- Result: paused, by whom, since when.
SELECT paused, paused_by, paused_at FROM queues WHERE id = $1;

-- name: set-queue-pause
-- Arguments: $1 queue, $2 paused, $3 by whom, $4 since when.
UPDATE queues SET paused = $2, paused_by = $3, paused_at = $4 WHERE id = $1;

-- name: queue-settings
-- Arguments: $1 name of a queue.
-- Result: its live settings, if anybody ever changed one.
SELECT lease, max_attempts, suspend_steps, actor, at FROM queue_settings WHERE queue = $1;

-- name: set-queue-settings
-- Arguments: $1 name of a queue, $2 lease, $3 max_attempts, $4 suspend_steps, $5 by whom, $6 when.
INSERT INTO queue_settings (queue, lease, max_attempts, suspend_steps, actor, at) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (queue) DO UPDATE
SET lease = excluded.lease, max_attempts = excluded.max_attempts, suspend_steps = excluded.suspend_steps, actor = excluded.actor, at = excluded.at;

-- name: queue-ids
-- Result: all queues.
SELECT id FROM queues ORDER BY id;

-- name: prune-items
-- Reads one page of a queue's items and removes the old ones that may go. Moves in a day's partition go with the
-- partition; moves in item_moves_rest are deleted here.
-- Arguments: $1 queue, $2 seq to start after, $3 limit, $4 before, $5 now.
-- Result: the last seq of the page, whether any item of the page was pushed before $4, how many items were removed.
WITH page AS MATERIALIZED (
    SELECT seq, created_at, until_at FROM items WHERE queue_id = $1 AND seq > $2 ORDER BY seq LIMIT $3),
old AS MATERIALIZED (
    SELECT p.seq FROM page p
    WHERE p.created_at < $4 AND p.until_at <= (SELECT ledger_now($5))
      AND (SELECT o.seq FROM open_items o WHERE o.queue_id = $1 AND o.seq = p.seq) IS NULL
      AND NOT EXISTS (SELECT FROM item_moves m WHERE m.seq = p.seq AND m.at >= $4)),
traces AS (DELETE FROM item_moves_rest m USING old o WHERE m.seq = o.seq),
early AS (DELETE FROM ended_early e USING old o WHERE e.queue_id = $1 AND e.state IN ('m' /* removed */, 'f' /* refused */) AND e.seq = o.seq),
gone AS (DELETE FROM items i USING old o WHERE i.queue_id = $1 AND i.seq = o.seq)
SELECT coalesce(max(seq), 0), coalesce(bool_or(created_at < $4), false), (SELECT count(*) FROM old) FROM page;
