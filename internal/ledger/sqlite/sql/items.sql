-- The records of queues. insertRows extends an INSERT of one row to several rows, as in commit.sql.

-- name: queue
-- Arguments: ?1 name.
-- Result: its id; no row if the queue is new.
SELECT id FROM queues WHERE name = ?1;

-- name: add-queue
-- Arguments: ?1 name, ?2 sink.
INSERT INTO queues (name, sink) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING;

-- name: known-items
-- Arguments: ?1 queue, ?2 ids (JSON).
-- Result: id, seq, the letter of the state and the warehouse of the existing items.
SELECT i.id, i.seq, coalesce(o.state, e.state, 'd' /* done */), i.warehouse
FROM items i
LEFT JOIN open_items o ON o.queue_id = i.queue_id AND o.seq = i.seq
LEFT JOIN ended_early e ON e.queue_id = i.queue_id AND e.state IN ('m' /* removed */, 'f' /* refused */) AND e.seq = i.seq
WHERE i.queue_id = ?1 AND i.id IN (SELECT value FROM json_each(?2));

-- name: insert-items
INSERT INTO items (seq, queue_id, id, priority, created_at, ready_at, until_at, bucket, dedupe_key, subject, pushed_by, node, payload,
                   warehouse, service_order)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: insert-open-items
INSERT INTO open_items (queue_id, seq, state, moves, attempt, failures, suspends, due, assignee, subject_hash)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: insert-item-moves
INSERT INTO item_moves (seq, at, moves) VALUES (?, ?, ?);

-- name: insert-ended-early
INSERT INTO ended_early (queue_id, state, seq) VALUES (?, ?, ?);

-- name: queue-position
-- Arguments: ?1 queue.
-- Result: the epoch of the sink, the epoch and the position of the last moves; no row if the sink has no epoch.
SELECT s.epoch, q.epoch, q.position FROM queues q JOIN inbox_states s ON s.sink = q.sink WHERE q.id = ?1;

-- name: move-on
-- Arguments: ?1 queue, ?2 epoch, ?3 position.
UPDATE queues SET epoch = ?2, position = ?3 WHERE id = ?1;

-- name: applied
-- Arguments: ?1 name, ?2 epoch.
-- Result: the position; no row if nothing was applied in the epoch.
SELECT position FROM queues WHERE name = ?1 AND epoch = ?2;

-- name: change-item
-- Leaves out an item that has moved on further.
-- Arguments: ?1 queue, ?2 seq, ?3 moves, ?4 … ?10 the other columns.
UPDATE open_items SET moves = ?3, state = ?4, attempt = ?5, failures = ?6, suspends = ?7, due = ?8, assignee = ?9, news = ?10
WHERE queue_id = ?1 AND seq = ?2 AND moves < ?3;

-- name: revise-item
-- Comes before change-item and end-item. Leaves out an item that has moved on further. The payload stays where its
-- source is 0 or no longer exists.
-- Arguments: ?1 queue, ?2 seq, ?3 moves, ?4 priority, ?5 order, ?6 source.
UPDATE items SET priority = ?4, service_order = ?5, payload = coalesce((SELECT s.payload FROM items s WHERE s.seq = ?6 AND s.queue_id = ?1), payload)
WHERE seq = ?2 AND EXISTS (SELECT 1 FROM open_items o WHERE o.queue_id = ?1 AND o.seq = ?2 AND o.moves < ?3);

-- name: event-items
-- The state of items before the moves that may be events.
-- Arguments: ?1 queue, ?2 seqs (JSON), ?3 now, ?4 the number of moves for an ended item.
-- Result: the columns of codec.Events, by seq.
SELECT i.seq, i.id, i.warehouse, i.priority, i.service_order, i.payload, coalesce(o.moves, ?4), coalesce(o.failures, 0), coalesce(o.assignee, ''), ?3
FROM items i LEFT JOIN open_items o ON o.queue_id = i.queue_id AND o.seq = i.seq
WHERE i.queue_id = ?1 AND i.seq IN (SELECT value FROM json_each(?2)) ORDER BY i.seq;

-- name: end-item
-- Leaves out an item that has moved on further.
-- Arguments: ?1 queue, ?2 seq, ?3 the number of its last move.
-- Result: the number of rows.
DELETE FROM open_items WHERE queue_id = ?1 AND seq = ?2 AND moves < ?3;

-- name: refuse-items
-- Arguments: ?1 queue, ?2 seqs (JSON).
-- Result: the state of the items that had not ended: seq, moves, state, attempt, failures, suspends, assignee.
DELETE FROM open_items WHERE queue_id = ?1 AND seq IN (SELECT value FROM json_each(?2))
RETURNING seq, moves, state, attempt, failures, suspends, assignee;

-- name: unfinished-items
-- Arguments: ?1 queue, ?2 seq to start after, ?3 limit.
-- Result: items in their present state, by seq.
SELECT i.seq, i.id, i.priority, i.payload, i.dedupe_key, i.created_at, i.ready_at, i.until_at, i.bucket, i.subject, i.pushed_by, i.node,
       i.warehouse, i.service_order, o.state, o.moves, o.attempt, o.failures, o.suspends, o.due, o.assignee, o.news
FROM open_items o CROSS JOIN items i ON i.seq = o.seq
WHERE o.queue_id = ?1 AND o.seq > ?2 ORDER BY o.seq LIMIT ?3;

-- name: first-window
-- Where held-keys may begin.
-- Arguments: ?1 queue, ?2 now.
-- Result: the lowest seq with an open window, 0 = none.
SELECT coalesce(min(seq), 0) FROM items WHERE queue_id = ?1 AND until_at > ?2 AND until_at > 0;

-- name: held-keys
-- The + keeps SQLite from sorting all open windows for each page.
-- Arguments: ?1 queue, ?2 now, ?3 seq to start after, ?4 limit.
-- Result: seq, id, bucket, until of done items, by seq.
SELECT i.seq, i.id, i.bucket, i.until_at FROM items i
WHERE i.queue_id = ?1 AND i.seq > ?3 AND +i.until_at > ?2
  AND NOT EXISTS (SELECT 1 FROM open_items o WHERE o.queue_id = ?1 AND o.seq = i.seq)
  AND NOT EXISTS (SELECT 1 FROM ended_early e WHERE e.queue_id = ?1 AND e.state IN ('m' /* removed */, 'f' /* refused */) AND e.seq = i.seq)
ORDER BY i.seq LIMIT ?4;

-- name: subject-items
-- Arguments: ?1 queue, ?2 hashes of the subjects, ?3 subjects (JSON).
-- Result: positions of subjects, from 1, and ids of their unfinished items.
SELECT h.key + 1, i.id
FROM json_each(?2) h
CROSS JOIN open_items o ON o.queue_id = ?1 AND o.subject_hash = h.value AND o.subject_hash <> 0
CROSS JOIN items i ON i.seq = o.seq
WHERE i.subject = json_extract(?3, '$[' || h.key || ']')
ORDER BY h.key, o.seq;

-- name: item
-- Arguments: ?1 queue, ?2 id.
-- Result: the item as in unfinished-items; an ended one has no state.
SELECT i.seq, i.id, i.priority, i.payload, i.dedupe_key, i.created_at, i.ready_at, i.until_at, i.bucket, i.subject, i.pushed_by, i.node,
       i.warehouse, i.service_order, coalesce(o.state, ''), coalesce(o.moves, 0), coalesce(o.attempt, 0), coalesce(o.failures, 0), coalesce(o.suspends, 0),
       coalesce(o.due, 0), coalesce(o.assignee, ''), coalesce(o.news, '')
FROM items i LEFT JOIN open_items o ON o.queue_id = i.queue_id AND o.seq = i.seq
WHERE i.queue_id = ?1 AND i.id = ?2;

-- name: key-items
-- Arguments: ?1 queue, ?2 dedupe key, ?3 seq to start below, ?4 limit, ?5 warehouses (JSON), null = all.
-- Result: items as in item, the latest push first.
SELECT i.seq, i.id, i.priority, i.payload, i.dedupe_key, i.created_at, i.ready_at, i.until_at, i.bucket, i.subject, i.pushed_by, i.node,
       i.warehouse, i.service_order, coalesce(o.state, ''), coalesce(o.moves, 0), coalesce(o.attempt, 0), coalesce(o.failures, 0), coalesce(o.suspends, 0),
       coalesce(o.due, 0), coalesce(o.assignee, ''), coalesce(o.news, '')
FROM items i LEFT JOIN open_items o ON o.queue_id = i.queue_id AND o.seq = i.seq
WHERE i.queue_id = ?1 AND i.dedupe_key = ?2 AND i.dedupe_key <> '' AND i.seq < ?3 AND (?5 IS NULL OR i.warehouse IN (SELECT value FROM json_each(?5)))
ORDER BY i.seq DESC LIMIT ?4;

-- name: payload
-- Arguments: ?1 queue, ?2 seq.
-- Result: the payload of the item.
SELECT payload FROM items WHERE queue_id = ?1 AND seq = ?2;

-- name: forget-item
-- Removes the row of an item that begins another life.
-- Arguments: ?1 queue, ?2 seq.
DELETE FROM items WHERE queue_id = ?1 AND seq = ?2;

-- name: forget-withheld
-- Arguments: ?1 queue, ?2 seq.
DELETE FROM withheld_items WHERE queue_id = ?1 AND seq = ?2;

-- name: item-moves
-- Arguments: ?1 seqs (JSON).
-- Result: seq and moves, in the order in which they were recorded.
SELECT seq, moves FROM item_moves WHERE seq IN (SELECT value FROM json_each(?1)) ORDER BY num;

-- name: last-moves
-- Arguments: ?1 queue, ?2 how many records of moves of all queues are read, ?3 warehouses (JSON), null = all.
-- Result: seq and moves of the records that belong to the queue.
SELECT m.seq, m.moves
FROM (SELECT seq, moves FROM item_moves ORDER BY num DESC LIMIT ?2) AS m
CROSS JOIN items i ON i.queue_id = ?1 AND i.seq = m.seq AND (?3 IS NULL OR i.warehouse IN (SELECT value FROM json_each(?3)));

-- name: looked-items
-- Finds the end of one step through the items of a queue.
-- Arguments: ?1 queue, ?2 seq to start below, ?3 length of a step.
-- Result: the seq of the last item of the step; no row if there are fewer.
SELECT seq FROM items WHERE queue_id = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT 1 OFFSET ?3 - 1;

-- name: looked-early-items
-- looked-items for removed or refused items.
-- Arguments: as in looked-items, ?4 state.
SELECT seq FROM ended_early WHERE queue_id = ?1 AND state = ?4 AND seq < ?2 ORDER BY seq DESC LIMIT 1 OFFSET ?3 - 1;

-- name: done-items
-- Arguments: ?1 queue, ?2 seq to start below, ?3 limit, ?4 the lowest seq, ?5 warehouses (JSON), null = all.
-- Result: items, the latest push first.
SELECT i.seq, i.id, i.priority, i.payload, i.dedupe_key, i.created_at, i.ready_at, i.until_at, i.bucket, i.subject, i.pushed_by, i.node,
       i.warehouse, i.service_order
FROM items i
WHERE i.queue_id = ?1 AND i.seq < ?2 AND i.seq >= ?4 AND (?5 IS NULL OR i.warehouse IN (SELECT value FROM json_each(?5)))
  AND NOT EXISTS (SELECT 1 FROM open_items o WHERE o.queue_id = ?1 AND o.seq = i.seq)
  AND NOT EXISTS (SELECT 1 FROM ended_early e WHERE e.queue_id = ?1 AND e.state IN ('m' /* removed */, 'f' /* refused */) AND e.seq = i.seq)
ORDER BY i.seq DESC LIMIT ?3;

-- name: early-items
-- Arguments: as in done-items, ?6 state.
-- Result: as in done-items.
SELECT i.seq, i.id, i.priority, i.payload, i.dedupe_key, i.created_at, i.ready_at, i.until_at, i.bucket, i.subject, i.pushed_by, i.node,
       i.warehouse, i.service_order
FROM ended_early e CROSS JOIN items i ON i.seq = e.seq
WHERE e.queue_id = ?1 AND e.state = ?6 AND e.seq < ?2 AND e.seq >= ?4 AND (?5 IS NULL OR i.warehouse IN (SELECT value FROM json_each(?5)))
ORDER BY e.seq DESC LIMIT ?3;

-- name: queue-pause
-- Arguments: ?1 queue.
-- Result: paused, by whom, since when.
SELECT paused, paused_by, paused_at FROM queues WHERE id = ?1;

-- name: set-queue-pause
-- Arguments: ?1 queue, ?2 paused, ?3 by whom, ?4 since when.
UPDATE queues SET paused = ?2, paused_by = ?3, paused_at = ?4 WHERE id = ?1;

-- name: queue-settings
-- Arguments: ?1 name of a queue.
-- Result: its live settings, if anybody ever changed one.
SELECT lease, max_attempts, suspend_steps, actor, at FROM queue_settings WHERE queue = ?1;

-- name: set-queue-settings
-- Arguments: ?1 name of a queue, ?2 lease, ?3 max_attempts, ?4 suspend_steps, ?5 by whom, ?6 when.
INSERT INTO queue_settings (queue, lease, max_attempts, suspend_steps, actor, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (queue) DO UPDATE
SET lease = excluded.lease, max_attempts = excluded.max_attempts, suspend_steps = excluded.suspend_steps, actor = excluded.actor, at = excluded.at;

-- name: queue-ids
-- Result: all queues.
SELECT id FROM queues ORDER BY id;

-- name: old-items
-- Reads one page of a queue's items.
-- Arguments: ?1 queue, ?2 seq to start after, ?3 limit, ?4 before, ?5 now.
-- Result: seq, whether the item was pushed before ?4, whether it may go.
SELECT i.seq, i.created_at < ?4,
       i.created_at < ?4 AND i.until_at <= ?5
       AND NOT EXISTS (SELECT 1 FROM open_items o WHERE o.queue_id = ?1 AND o.seq = i.seq)
       AND NOT EXISTS (SELECT 1 FROM item_moves m WHERE m.seq = i.seq AND m.at >= ?4)
FROM items i WHERE i.queue_id = ?1 AND i.seq > ?2 ORDER BY i.seq LIMIT ?3;

-- name: prune-item-moves
-- Arguments: ?1 seqs (JSON).
DELETE FROM item_moves WHERE seq IN (SELECT value FROM json_each(?1));

-- name: prune-ended-early
-- Arguments: ?1 queue, ?2 seqs (JSON).
DELETE FROM ended_early WHERE queue_id = ?1 AND state IN ('m' /* removed */, 'f' /* refused */) AND seq IN (SELECT value FROM json_each(?2));

-- name: prune-items
-- Arguments: ?1 seqs (JSON).
-- Result: the number of rows.
DELETE FROM items WHERE seq IN (SELECT value FROM json_each(?1));
