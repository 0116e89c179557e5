-- How nodes tell a ledger from an older copy of it; docs/adr/lineage.md. The argument "now" is null for the server's
-- clock.

-- name: begin-branch
-- An existing branch stays as it is.
-- Arguments: $1 branch, $2 now.
INSERT INTO branches (branch, number, at) VALUES ($1, 1, ledger_now($2)) ON CONFLICT (branch) DO NOTHING;

-- name: grow-branch
-- Arguments: $1 branch, $2 number, $3 now.
-- Result: the number of rows, 0 = the branch is neither at the previous number nor at this one.
UPDATE branches SET number = $2, at = ledger_now($3) WHERE branch = $1 AND number IN ($2 - 1, $2);

-- name: has-branch
-- Arguments: $1 branch, $2 number.
-- Result: a row where the branch is at the number or beyond.
SELECT number FROM branches WHERE branch = $1 AND number >= $2;

-- name: prune-branches
-- Arguments: $1 before.
-- Result: the number of rows.
DELETE FROM branches WHERE at < $1;

-- name: set-restored
-- Records the time of the restore. The numbers of changes jump to the time in ms. A node may remember a number that
-- the ledger has lost; without the jump the node would take a later change with the same number for the one that it
-- knows.
-- Arguments: $1 now.
UPDATE ledger_numbers SET value = CASE name WHEN 'restored' THEN ledger_now($1) ELSE greatest(value + 1, ledger_now($1) / 1000) END
WHERE name IN ('restored', 'types_version', 'tokens', 'switches', 'silences', 'queue_settings', 'scope_lists');

-- name: origins
-- Arguments: $1 deliveries.
-- Result, for each existing delivery: seq, the id of its notice, and when the notice was created.
WITH d AS MATERIALIZED (SELECT seq, notice_id FROM deliveries WHERE seq = ANY($1::bigint[]))
SELECT d.seq, n.id, n.created_at FROM d JOIN ledger_notices(ARRAY(SELECT notice_id FROM d)) n ON n.id = d.notice_id;

-- name: standing-items
-- Arguments: $1 queue, $2 seqs.
-- Result: the state of the items that have not ended and are not withheld: seq, moves, state, attempt, failures,
-- suspends, assignee.
SELECT o.seq, o.moves, o.state, o.attempt, o.failures, o.suspends, o.assignee
FROM (SELECT (SELECT o.ctid FROM open_items o WHERE o.queue_id = $1 AND o.seq = n.seq) AS place FROM unnest($2::bigint[]) AS n (seq) OFFSET 0) AS p
JOIN open_items o ON o.ctid = p.place
WHERE NOT EXISTS (SELECT FROM withheld_items w WHERE w.queue_id = $1 AND w.seq = o.seq AND o.state = 'x' /* dead */ AND o.moves = w.moves)
ORDER BY o.seq FOR UPDATE OF o;

-- name: withhold-items
-- Arguments: $1 queue, $2 seq, moves and at of each (JSON objects).
UPDATE open_items o SET state = 'x' /* dead */, moves = n.moves, due = n.at
FROM jsonb_to_recordset($2::jsonb) AS n (seq bigint, moves bigint, at bigint) WHERE o.queue_id = $1 AND o.seq = n.seq;

-- name: mark-withheld
-- Arguments: as in withhold-items.
INSERT INTO withheld_items (queue_id, seq, moves)
SELECT $1, n.seq, n.moves FROM jsonb_to_recordset($2::jsonb) AS n (seq bigint, moves bigint)
ON CONFLICT (queue_id, seq) DO UPDATE SET moves = excluded.moves;

-- name: trace-withheld
-- Arguments: $1 seq, at and trail of each (JSON objects).
INSERT INTO item_moves (seq, at, moves) SELECT n.seq, n.at, n.trail FROM jsonb_to_recordset($1::jsonb) AS n (seq bigint, at bigint, trail text);

-- name: withheld-items
-- Arguments: $1 queue, $2 seq to start below, $3 limit, $4 warehouses, null = all.
-- Result: items in their present state, the latest push first.
SELECT i.seq, i.id, i.priority, i.payload, i.dedupe_key, i.created_at, i.ready_at, i.until_at, i.bucket, i.subject, i.pushed_by, i.node,
       i.warehouse, i.service_order, o.state, o.moves, o.attempt, o.failures, o.suspends, o.due, o.assignee, o.news
FROM withheld_items w
JOIN open_items o ON o.queue_id = $1 AND o.seq = w.seq AND o.state = 'x' /* dead */ AND o.moves = w.moves
JOIN items i ON i.queue_id = $1 AND i.seq = w.seq
WHERE w.queue_id = $1 AND w.seq < $2 AND ($4::text[] IS NULL OR i.warehouse = ANY($4)) ORDER BY w.seq DESC LIMIT $3;

-- name: count-withheld
-- Result: queue and number.
SELECT q.name, count(*) FROM withheld_items w
JOIN open_items o ON o.queue_id = w.queue_id AND o.seq = w.seq AND o.state = 'x' /* dead */ AND o.moves = w.moves
JOIN queues q ON q.id = w.queue_id GROUP BY q.name;

-- name: prune-withheld
-- Removes the marks of withheld items that an operator has decided.
DELETE FROM withheld_items w WHERE NOT EXISTS (SELECT FROM open_items o WHERE o.queue_id = w.queue_id AND o.seq = w.seq AND o.state = 'x' /* dead */ AND o.moves = w.moves);
