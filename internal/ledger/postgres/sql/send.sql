-- Notices of business systems.

-- name: sent-notices
-- Arguments: $1 ids.
-- Result: the bodies of the existing notices.
SELECT body FROM notices WHERE id = ANY($1::text[]);

-- name: sent-deliveries
-- Arguments: $1 ids.
-- Result, for each existing notice and sink: id, sink, and number of deliveries.
SELECT d.notice_id, l.sink, count(*)
FROM ledger_deliveries_of($1::text[]) d JOIN lanes l ON l.id = d.lane_id
GROUP BY d.notice_id, l.sink;
