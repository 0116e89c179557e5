-- What users have read and acked.

-- name: is-recipient
-- Arguments: $1 notice, $2 warehouse, $3 subscribers. Result: whether the notice was delivered, or is on its way, to the inbox of one
-- of them in the warehouse.
SELECT EXISTS (
    SELECT FROM notices n
    JOIN deliveries d ON d.seq BETWEEN n.first_seq AND n.last_seq AND d.notice_id = n.id AND d.state IN (0, 1)
    JOIN lanes l ON l.id = d.lane_id AND l.warehouse = $2 AND l.warehouse <> ''
    WHERE n.id = $1 AND string_to_array(d.recipients, ' ') && $3::text[]);

-- name: needless-pushes
-- Arguments: $1 notice, $2 what makes deliveries needless. Result: the open deliveries of the notice that are.
SELECT p.seq FROM notices n
JOIN deliveries d ON d.seq BETWEEN n.first_seq AND n.last_seq AND d.notice_id = n.id AND d.state <= 0
JOIN pushes p ON p.seq = d.seq AND coalesce(p.due, 0) > 0 AND p.unless = ANY($2::text[])
WHERE n.id = $1 ORDER BY p.seq;

-- name: add-mark
-- Arguments: $1 notice, $2 user, $3 kind, $4 warehouse, $5 at. One that is there stays.
INSERT INTO marks (notice_id, subscriber, kind, warehouse, at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING;

-- name: marks
-- Arguments: $1 notice. Result: its marks in the order of time.
SELECT subscriber, kind, warehouse, at FROM marks WHERE notice_id = $1 ORDER BY at, subscriber, kind;
