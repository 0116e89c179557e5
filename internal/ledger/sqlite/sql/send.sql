-- Notices of business systems.

-- name: sent-notices
-- Arguments: ?1 ids (JSON).
-- Result: the bodies of the existing notices.
SELECT body FROM notices WHERE id IN (SELECT value FROM json_each(?1));

-- name: sent-deliveries
-- Arguments: ?1 ids (JSON).
-- Result, for each existing notice and sink: id, sink, and number of deliveries.
SELECT n.id, l.sink, count(*) FROM notices n JOIN deliveries d ON d.notice = n.num JOIN lanes l ON l.id = d.lane_id
WHERE n.id IN (SELECT value FROM json_each(?1)) GROUP BY n.id, l.sink;
