-- What users have read and acked.

-- name: is-recipient
-- Arguments: ?1 notice, ?2 warehouse, ?3 subscribers (JSON). Result: a row if the notice was delivered, or is on its way, to the inbox of
-- one of them in the warehouse.
SELECT 1 FROM notices n
JOIN deliveries d ON d.notice = n.num AND d.state IN (0, 1)
JOIN lanes l ON l.id = d.lane_id AND l.warehouse = ?2 AND l.warehouse <> ''
WHERE n.id = ?1 AND EXISTS (SELECT 1 FROM json_each(?3) WHERE instr(' ' || d.recipients || ' ', ' ' || value || ' '))
LIMIT 1;

-- name: needless-pushes
-- Arguments: ?1 notice, ?2 what makes deliveries needless (JSON). Result: the open deliveries of the notice that are.
SELECT p.seq FROM notices n JOIN deliveries d ON d.notice = n.num AND d.state = 0 JOIN pushes p ON p.seq = d.seq AND p.due IS NOT NULL
WHERE n.id = ?1 AND p.unless IN (SELECT value FROM json_each(?2)) ORDER BY p.seq;

-- name: add-mark
-- Arguments: ?1 notice, ?2 user, ?3 kind, ?4 warehouse, ?5 at. One that is there stays.
INSERT INTO marks (notice_id, subscriber, kind, warehouse, at) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING;

-- name: marks
-- Arguments: ?1 notice. Result: its marks in the order of time.
SELECT subscriber, kind, warehouse, at FROM marks WHERE notice_id = ?1 ORDER BY at, subscriber, kind;
