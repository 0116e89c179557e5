-- The partitions of days; docs/adr/ledger-partitions.md.

-- name: lock-days
-- Only one node at a time makes or drops partitions. Its lock_timeout is shorter than the server's deadlock_timeout. So
-- in a deadlock this transaction gives up, before the server ends another transaction.
-- Result: whether this node has the lock, and the lock_timeout.
SELECT pg_try_advisory_xact_lock('notices'::regclass::oid::integer, 0), set_config('lock_timeout', '500ms', true);

-- name: days
-- Arguments: $1 a table.
-- Result: the days of its partitions, the earliest first.
SELECT right(c.relname, 8) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = $1::text::regclass AND c.relname ~ '_[0-9]{8}$' ORDER BY 1;

-- name: change-day
-- Makes, detaches or drops a partition as the owner of the tables.
-- Arguments: $1 make, detach or drop, $2 a table, $3 the day as YYYYMMDD, $4 and $5 the bounds of a partition to make.
SELECT ledger_day($1, $2, $3, $4, $5);

-- name: begin-item-seqs
-- Moves the sequence of item numbers on to the first number of today, unless the sequence is there already.
-- Arguments: $1 the first number of today.
-- Result: the number, or no row.
SELECT setval('items_seq', $1) FROM items_seq WHERE last_value < $1;

-- name: named-notices
-- Arguments: $1 from, $2 to (excluded).
-- Result: the ids of notices in this range that open findings name.
SELECT DISTINCT notice_id FROM findings WHERE notice_id >= $1 AND notice_id < $2;

-- In the following statements "_leaving" stands for the suffix of the day's partitions.

-- name: staying
-- Finds the notices of a partition that must stay: notices that were made later than their day, at $1 or later; notices
-- that have not expired, or have just expired; notices that a finding names; and notices with a delivery that is tried
-- until it succeeds. An index leads to each kind, with one exception. If the retention is shorter than the shortest
-- life in notices_lasting, the server reads all notices that have not expired.
-- Arguments: $1 before, $2 ids that findings name, $3 now, $4 how long an expired notice stays, $5 the shortest life
-- in notices_lasting.
-- Result: their ids.
SELECT id FROM notices_leaving WHERE created_at >= $1::bigint
UNION SELECT id FROM notices_leaving WHERE expires_at > (SELECT ledger_now($3)) - $4::bigint AND expires_at - created_at > 604800000000
UNION SELECT id FROM notices_leaving WHERE expires_at > (SELECT ledger_now($3)) - $4::bigint AND $1::bigint + $5::bigint > (SELECT ledger_now($3)) - $4::bigint
UNION SELECT id FROM notices_leaving WHERE id = ANY ($2::text[])
UNION SELECT n.id FROM notices_leaving n JOIN deliveries_open d ON d.notice_id = n.id AND d.expires_at = 9223372036854775807;

-- name: keep-notices
-- Copies notices to notices_rest.
-- Arguments: $1 ids.
INSERT INTO notices SELECT * FROM notices_leaving WHERE id = ANY ($1::text[]);

-- name: keep-deliveries
-- Arguments: $1 ids of notices.
INSERT INTO deliveries SELECT d.*
FROM notices_leaving n JOIN deliveries_ended_leaving d ON d.seq BETWEEN n.first_seq AND n.last_seq AND d.notice_id = n.id
WHERE n.id = ANY ($1::text[]);

-- name: keep-moves
-- Copies the moves of items that still exist; old items that may go were removed before.
-- Arguments: $1 the lowest seq of the day, $2 the lowest seq of the next day.
INSERT INTO item_moves SELECT m.*
FROM queues q JOIN items i ON i.queue_id = q.id AND i.seq >= $1 AND i.seq < $2 JOIN item_moves_leaving m ON m.seq = i.seq;

-- name: prune-day-pushes
-- Removes the rows in pushes of deliveries that ended unsent and have expired, for one page of the deliveries of a
-- day.
-- Arguments: $1 seq to start after, $2 limit, $3 now, $4 how long an expired notice stays.
-- Result: the last seq of the page, null = the page was empty.
WITH page AS MATERIALIZED (
    SELECT seq FROM deliveries_ended_leaving
    WHERE state > 1 AND seq > $1 AND expires_at <= (SELECT ledger_now($3)) - $4::bigint ORDER BY seq LIMIT $2),
gone AS (DELETE FROM pushes p USING page WHERE p.seq = page.seq AND p.due IS NULL)
SELECT max(seq) FROM page;

-- name: prune-day-marks
-- Removes one batch of marks of notices that no longer exist.
-- Arguments: $1 the notice to start after, $2 the lowest id that a partition keeps, $3 limit.
-- Result: the last notice of the batch, null = the batch was empty.
WITH page AS MATERIALIZED (SELECT DISTINCT b.notice_id FROM (
    SELECT m.notice_id FROM marks m WHERE m.notice_id > $1 AND m.notice_id < $2 ORDER BY m.notice_id LIMIT $3) b),
gone AS (DELETE FROM marks m USING page p WHERE m.notice_id = p.notice_id AND NOT EXISTS (SELECT FROM notices_rest n WHERE n.id = p.notice_id))
SELECT max(notice_id) FROM page;
