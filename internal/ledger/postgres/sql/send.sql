-- Notices of business systems.

-- name: sent-notices
-- Arguments: $1 ids. Result: the bodies of those that are there.
SELECT body FROM notices WHERE id = ANY($1::text[]);

-- name: sent-deliveries
-- Arguments: $1 ids. Result: id, sink and number of deliveries of those that are there.
SELECT n.id, l.sink, count(*)
FROM notices n
JOIN deliveries d ON d.seq BETWEEN n.first_seq AND n.last_seq AND d.notice_id = n.id
JOIN lanes l ON l.id = d.lane_id
WHERE n.id = ANY($1::text[])
GROUP BY n.id, l.sink;
