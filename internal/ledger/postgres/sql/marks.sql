-- What users have read and acked.

-- name: is-recipient
-- Arguments: $1 notice, $2 warehouse, $3 subscribers.
-- Result: whether the notice was delivered, or is on its way, to the inbox of one of them in the warehouse.
SELECT EXISTS (
    SELECT FROM ledger_deliveries_of(ARRAY[$1::text]) d
    JOIN lanes l ON l.id = d.lane_id AND l.warehouse = $2 AND l.warehouse <> ''
    WHERE d.state IN (0, 1) AND string_to_array(d.recipients, ' ') && $3::text[]);

-- name: needless-pushes
-- A delivery with `unless: read` to one subscriber alone is needless only if $3 has this subscriber. All other
-- deliveries with one of the values in $2 are needless.
-- Arguments: $1 notice, $2 `unless` values that the mark meets, $3 the user and the user's roles.
-- Result: the open deliveries of the notice that are needless.
SELECT p.seq FROM ledger_deliveries_of(ARRAY[$1::text]) d
JOIN pushes p ON p.seq = d.seq AND coalesce(p.due, 0) > 0 AND p.unless = ANY($2::text[])
WHERE d.state <= 0 AND (p.addressee = 0 OR p.unless <> 'read' OR d.recipients = ANY($3::text[])) ORDER BY p.seq;

-- name: add-mark
-- An existing mark stays.
-- Arguments: $1 notice, $2 user, $3 kind, $4 warehouse, $5 at.
INSERT INTO marks (notice_id, subscriber, kind, warehouse, at, expires_at)
SELECT $1, $2, $3, $4, $5, n.expires_at FROM notices n WHERE n.id = $1 ON CONFLICT DO NOTHING;

-- name: marks
-- Arguments: $1 notice.
-- Result: its marks in the order of time, and one for each user without a mark whose watermark covers the notice.
SELECT subscriber, kind, warehouse, at FROM marks WHERE notice_id = $1
UNION ALL
SELECT r.subscriber, 'read', r.warehouse, min(r.at) AS at
FROM ledger_deliveries_of(ARRAY[$1::text]) d
JOIN lanes l ON l.id = d.lane_id AND l.warehouse <> ''
JOIN reads r ON r.warehouse = l.warehouse AND r.score >= d.score AND r.inbox = ANY(string_to_array(d.recipients, ' '))
WHERE d.state = 1 AND NOT EXISTS (SELECT FROM marks m WHERE m.notice_id = d.notice_id AND m.subscriber = r.subscriber)
GROUP BY r.subscriber, r.warehouse
ORDER BY at, subscriber, kind;

-- name: live-marks
-- Arguments: expiry, notice, user and kind to start after, $5 limit, $6 now.
-- Result: the columns of codec.MarkRow.
SELECT notice_id, subscriber, kind, warehouse, at, expires_at FROM marks
WHERE (expires_at, notice_id, subscriber, kind) > ($1::bigint, $2, $3, $4) AND expires_at > (SELECT ledger_now($6))
ORDER BY expires_at, notice_id, subscriber, kind LIMIT $5;

-- name: recent-marks
-- Arguments: time, notice, user and kind to start after, $5 limit.
-- Result: the columns of codec.MarkRow.
SELECT notice_id, subscriber, kind, warehouse, at, expires_at FROM marks
WHERE (at, notice_id, subscriber, kind) > ($1::bigint, $2, $3, $4)
ORDER BY at, notice_id, subscriber, kind LIMIT $5;

-- name: raise-reads
-- A watermark never falls.
-- Arguments: $1 warehouse, $2 user, $3 inboxes, $4 score, $5 at.
INSERT INTO reads (warehouse, subscriber, inbox, score, at)
SELECT $1, $2, inbox, $4, $5 FROM unnest($3::text[]) AS inbox ORDER BY inbox
ON CONFLICT (warehouse, subscriber, inbox) DO UPDATE SET score = excluded.score, at = excluded.at WHERE reads.score < excluded.score;

-- name: reads
-- Arguments: time, warehouse, user and inbox to start after, $5 limit.
-- Result: warehouse, user, inbox, score, at.
SELECT warehouse, subscriber, inbox, score, at FROM reads
WHERE (at, warehouse, subscriber, inbox) > ($1::bigint, $2, $3, $4)
ORDER BY at, warehouse, subscriber, inbox LIMIT $5;

-- name: pushes-until-read
-- One batch of deliveries that wait with `unless: read` although their notice has been read: the notice lies in one of
-- the inboxes at or below the score. A delivery to one subscriber is needless only if the subscriber is the user or one
-- of the inboxes.
-- Arguments: $1 warehouse, $2 inboxes, $3 score, $4 seq to start after, $5 limit, $6 user.
-- Result: the open deliveries, by seq.
SELECT p.seq FROM pushes p
JOIN deliveries d ON d.seq = p.seq AND d.state <= 0
JOIN notices n ON n.id = d.notice_id
WHERE p.due IS NOT NULL AND p.unless = 'read' AND p.seq > $4
  AND (p.addressee = 0 OR d.recipients = $6 OR d.recipients = ANY($2::text[]))
  AND EXISTS (SELECT FROM deliveries i JOIN lanes l ON l.id = i.lane_id AND l.warehouse = $1 AND l.warehouse <> ''
              WHERE i.seq BETWEEN n.first_seq AND n.last_seq AND i.notice_id = n.id AND i.state + 0 = 1 AND i.score <= $3
                AND string_to_array(i.recipients, ' ') && $2::text[])
ORDER BY p.seq LIMIT $5;

-- name: read-already
-- Deliveries that wait with `unless: read` although their notice was read before the ledger knew its place in the
-- inbox. A user reads a notice only after the notice got its score. The clocks of nodes and of Redis may differ by $2.
-- Arguments: $1 deliveries to inboxes that were recorded just now, $2 µs by which clocks may differ, $3 their
-- notices.
-- Result: one user who has read the notice, open delivery.
WITH sent AS MATERIALIZED (
    SELECT d.lane_id, d.score, d.recipients, d.notice_id FROM ledger_deliveries_of($3::text[]) d
    WHERE d.seq = ANY($1::bigint[]) AND d.state = 1 AND EXISTS (SELECT FROM pushes WHERE due IS NOT NULL AND unless = 'read')),
waiting AS MATERIALIZED (
    SELECT l.warehouse, d.score, string_to_array(d.recipients, ' ') AS inboxes, p.seq, CASE WHEN p.addressee <> 0 THEN o.recipients END AS only
    FROM sent d
    JOIN lanes l ON l.id = d.lane_id AND l.warehouse <> ''
    JOIN ledger_notices(ARRAY(SELECT notice_id FROM sent)) n ON n.id = d.notice_id
    JOIN pushes p ON p.seq BETWEEN n.first_seq AND n.last_seq AND p.due IS NOT NULL AND p.unless = 'read'
    JOIN deliveries o ON o.seq = p.seq AND o.notice_id = n.id AND o.state <= 0),
recent AS MATERIALIZED (
    SELECT r.warehouse, r.subscriber, r.inbox, r.score FROM reads r
    WHERE r.at > (SELECT min(score) FROM waiting) - $2::bigint AND r.score >= (SELECT min(score) FROM waiting))
SELECT min(r.subscriber), w.seq
FROM recent r JOIN waiting w ON r.warehouse = w.warehouse AND r.inbox = ANY(w.inboxes) AND r.score >= w.score
    AND (w.only IS NULL OR w.only IN (r.subscriber, r.inbox))
GROUP BY w.seq ORDER BY w.seq;

-- name: prune-reads
-- Removes watermarks that have not risen since $1, and that cover no unexpired notice.
-- Arguments: $1 before, $2 now.
DELETE FROM reads r WHERE r.at < $1 AND NOT EXISTS (
    SELECT FROM deliveries d JOIN lanes l ON l.id = d.lane_id AND l.warehouse = r.warehouse
    WHERE d.state = 1 AND d.score <= r.score AND d.expires_at > (SELECT ledger_now($2)));
