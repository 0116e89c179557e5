-- How nodes tell a ledger from an older copy of it; docs/adr/lineage.md. The argument "now" is the time of the node's
-- clock.

-- name: begin-branch
-- An existing branch stays as it is.
-- Arguments: ?1 branch, ?2 now.
INSERT INTO branches (branch, number, at) VALUES (?1, 1, ?2) ON CONFLICT (branch) DO NOTHING;

-- name: grow-branch
-- Arguments: ?1 branch, ?2 number, ?3 now.
-- Result: the number of rows, 0 = the branch is neither at the previous number nor at this one.
UPDATE branches SET number = ?2, at = ?3 WHERE branch = ?1 AND number IN (?2 - 1, ?2);

-- name: has-branch
-- Arguments: ?1 branch, ?2 number.
-- Result: a row where the branch is at the number or beyond.
SELECT number FROM branches WHERE branch = ?1 AND number >= ?2;

-- name: prune-branches
-- Arguments: ?1 before.
-- Result: the number of rows.
DELETE FROM branches WHERE at < ?1;

-- name: set-restored
-- Records the time of the restore. The numbers of changes jump to the time in ms. A node may remember a number that
-- the ledger has lost; without the jump the node would take a later change with the same number for the one that it
-- knows.
-- Arguments: ?1 now.
UPDATE ledger_numbers SET value = CASE name WHEN 'restored' THEN ?1 ELSE max(value + 1, ?1 / 1000) END
WHERE name IN ('restored', 'types_version', 'tokens', 'switches', 'silences', 'queue_settings', 'scope_lists');

-- name: origins
-- Arguments: ?1 deliveries (JSON).
-- Result, for each existing delivery: seq, the id of its notice, and when the notice was created.
SELECT d.seq, n.id, n.created_at FROM deliveries d JOIN notices n ON n.num = d.notice WHERE d.seq IN (SELECT value FROM json_each(?1));

-- name: standing-items
-- Arguments: ?1 queue, ?2 seqs (JSON).
-- Result: the state of the items that have not ended and are not withheld: seq, moves, state, attempt, failures,
-- suspends, assignee.
SELECT o.seq, o.moves, o.state, o.attempt, o.failures, o.suspends, o.assignee
FROM json_each(?2) n CROSS JOIN open_items o ON o.queue_id = ?1 AND o.seq = n.value
WHERE NOT EXISTS (SELECT 1 FROM withheld_items w WHERE w.queue_id = ?1 AND w.seq = o.seq AND o.state = 'x' /* dead */ AND o.moves = w.moves)
ORDER BY o.seq;

-- name: withhold-items
-- Arguments: ?1 queue, ?2 seq, moves and at of each (JSON objects).
UPDATE open_items SET state = 'x' /* dead */, moves = json_extract(n.value, '$.moves'), due = json_extract(n.value, '$.at')
FROM json_each(?2) n WHERE open_items.queue_id = ?1 AND open_items.seq = json_extract(n.value, '$.seq');

-- name: mark-withheld
-- Arguments: as in withhold-items.
INSERT INTO withheld_items (queue_id, seq, moves) SELECT ?1, json_extract(n.value, '$.seq'), json_extract(n.value, '$.moves') FROM json_each(?2) n WHERE true
ON CONFLICT (queue_id, seq) DO UPDATE SET moves = excluded.moves;

-- name: trace-withheld
-- Arguments: ?1 seq, at and trail of each (JSON objects).
INSERT INTO item_moves (seq, at, moves) SELECT json_extract(n.value, '$.seq'), json_extract(n.value, '$.at'), json_extract(n.value, '$.trail') FROM json_each(?1) n;

-- name: withheld-items
-- Arguments: ?1 queue, ?2 seq to start below, ?3 limit, ?4 warehouses (JSON), null = all.
-- Result: items in their present state, the latest push first.
SELECT i.seq, i.id, i.priority, i.payload, i.dedupe_key, i.created_at, i.ready_at, i.until_at, i.bucket, i.subject, i.pushed_by, i.node,
       i.warehouse, i.service_order, o.state, o.moves, o.attempt, o.failures, o.suspends, o.due, o.assignee, o.news
FROM withheld_items w
CROSS JOIN open_items o ON o.queue_id = w.queue_id AND o.seq = w.seq AND o.state = 'x' /* dead */ AND o.moves = w.moves
CROSS JOIN items i ON i.seq = w.seq
WHERE w.queue_id = ?1 AND w.seq < ?2 AND (?4 IS NULL OR i.warehouse IN (SELECT value FROM json_each(?4))) ORDER BY w.seq DESC LIMIT ?3;

-- name: count-withheld
-- Result: queue and number.
SELECT q.name, count(*) FROM withheld_items w
CROSS JOIN open_items o ON o.queue_id = w.queue_id AND o.seq = w.seq AND o.state = 'x' /* dead */ AND o.moves = w.moves
CROSS JOIN queues q ON q.id = w.queue_id GROUP BY q.name;

-- name: prune-withheld
-- Removes the marks of withheld items that an operator has decided.
DELETE FROM withheld_items AS w WHERE NOT EXISTS (SELECT 1 FROM open_items o WHERE o.queue_id = w.queue_id AND o.seq = w.seq AND o.state = 'x' /* dead */ AND o.moves = w.moves);
