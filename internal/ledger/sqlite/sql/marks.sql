-- What users have read and acked.

-- name: is-recipient
-- Arguments: ?1 notice, ?2 warehouse, ?3 subscribers (JSON).
-- Result: a row if the notice was delivered, or is on its way, to the inbox of one of them in the warehouse.
SELECT 1 FROM notices n
JOIN deliveries d ON d.notice = n.num AND d.state IN (0, 1)
JOIN lanes l ON l.id = d.lane_id AND l.warehouse = ?2 AND l.warehouse <> ''
WHERE n.id = ?1 AND EXISTS (SELECT 1 FROM json_each(?3) WHERE instr(' ' || d.recipients || ' ', ' ' || value || ' '))
LIMIT 1;

-- name: needless-pushes
-- A delivery with `unless: read` to one subscriber alone is needless only if ?3 has this subscriber. All other
-- deliveries with one of the values in ?2 are needless.
-- Arguments: ?1 notice, ?2 `unless` values that the mark meets (JSON), ?3 the user and the user's roles (JSON).
-- Result: the open deliveries of the notice that are needless.
SELECT p.seq FROM notices n JOIN deliveries d ON d.notice = n.num AND d.state = 0 JOIN pushes p ON p.seq = d.seq AND p.due IS NOT NULL
WHERE n.id = ?1 AND p.unless IN (SELECT value FROM json_each(?2))
  AND (p.addressee = 0 OR p.unless <> 'read' OR d.recipients IN (SELECT value FROM json_each(?3)))
ORDER BY p.seq;

-- name: add-mark
-- An existing mark stays.
-- Arguments: ?1 notice, ?2 user, ?3 kind, ?4 warehouse, ?5 at.
INSERT INTO marks (notice_id, subscriber, kind, warehouse, at, expires_at)
SELECT ?1, ?2, ?3, ?4, ?5, n.expires_at FROM notices n WHERE n.id = ?1 ON CONFLICT DO NOTHING;

-- name: marks
-- Arguments: ?1 notice.
-- Result: its marks in the order of time, and one for each user without a mark whose watermark covers the notice.
SELECT subscriber, kind, warehouse, at FROM marks WHERE notice_id = ?1
UNION ALL
SELECT r.subscriber, 'read', r.warehouse, min(r.at)
FROM notices n
JOIN deliveries d ON d.notice = n.num AND d.state = 1
JOIN lanes l ON l.id = d.lane_id AND l.warehouse <> ''
JOIN reads r ON r.warehouse = l.warehouse AND r.score >= d.score AND instr(' ' || d.recipients || ' ', ' ' || r.inbox || ' ')
WHERE n.id = ?1 AND NOT EXISTS (SELECT 1 FROM marks m WHERE m.notice_id = n.id AND m.subscriber = r.subscriber)
GROUP BY r.subscriber, r.warehouse
ORDER BY at, subscriber, kind;

-- name: live-marks
-- Arguments: expiry, notice, user and kind to start after, ?5 limit, ?6 now.
-- Result: the columns of codec.MarkRow.
SELECT notice_id, subscriber, kind, warehouse, at, expires_at FROM marks
WHERE (expires_at, notice_id, subscriber, kind) > (?1, ?2, ?3, ?4) AND expires_at > ?6
ORDER BY expires_at, notice_id, subscriber, kind LIMIT ?5;

-- name: recent-marks
-- Arguments: time, notice, user and kind to start after, ?5 limit.
-- Result: the columns of codec.MarkRow.
SELECT notice_id, subscriber, kind, warehouse, at, expires_at FROM marks
WHERE (at, notice_id, subscriber, kind) > (?1, ?2, ?3, ?4)
ORDER BY at, notice_id, subscriber, kind LIMIT ?5;

-- name: raise-reads
-- A watermark never falls.
-- Arguments: ?1 warehouse, ?2 user, ?3 inboxes (JSON), ?4 score, ?5 at.
INSERT INTO reads (warehouse, subscriber, inbox, score, at)
SELECT ?1, ?2, value, ?4, ?5 FROM json_each(?3) WHERE true
ON CONFLICT (warehouse, subscriber, inbox) DO UPDATE SET score = excluded.score, at = excluded.at WHERE score < excluded.score;

-- name: reads
-- Arguments: time, warehouse, user and inbox to start after, ?5 limit.
-- Result: warehouse, user, inbox, score, at.
SELECT warehouse, subscriber, inbox, score, at FROM reads
WHERE (at, warehouse, subscriber, inbox) > (?1, ?2, ?3, ?4)
ORDER BY at, warehouse, subscriber, inbox LIMIT ?5;

-- name: pushes-until-read
-- One batch of deliveries that wait with `unless: read` although their notice has been read: the notice lies in one of
-- the inboxes at or below the score. A delivery to one subscriber is needless only if the subscriber is the user or one
-- of the inboxes.
-- Arguments: ?1 warehouse, ?2 inboxes (JSON), ?3 score, ?4 seq to start after, ?5 limit, ?6 user.
-- Result: the open deliveries, by seq.
SELECT p.seq FROM pushes p JOIN deliveries d ON d.seq = p.seq AND d.state = 0
WHERE p.due IS NOT NULL AND p.unless = 'read' AND p.seq > ?4
  AND (p.addressee = 0 OR d.recipients = ?6 OR d.recipients IN (SELECT value FROM json_each(?2)))
  AND EXISTS (SELECT 1 FROM deliveries i JOIN lanes l ON l.id = i.lane_id AND l.warehouse = ?1 AND l.warehouse <> ''
              WHERE i.notice = d.notice AND i.state = 1 AND i.score <= ?3
                AND EXISTS (SELECT 1 FROM json_each(?2) WHERE instr(' ' || i.recipients || ' ', ' ' || value || ' ')))
ORDER BY p.seq LIMIT ?5;

-- name: read-already
-- Deliveries that wait with `unless: read` although their notice was read before the ledger knew its place in the
-- inbox. A user reads a notice only after the notice got its score. The clocks of nodes and of Redis may differ by ?2.
-- Arguments: ?1 deliveries to inboxes that were recorded just now (JSON), ?2 µs by which clocks may differ.
-- Result: one user who has read the notice, open delivery.
WITH waiting AS MATERIALIZED (
    SELECT l.warehouse, d.score, ' ' || d.recipients || ' ' AS inboxes, p.seq, CASE WHEN p.addressee <> 0 THEN o.recipients END AS only
    FROM json_each(?1) s
    JOIN deliveries d ON d.seq = s.value AND d.state = 1
    JOIN lanes l ON l.id = d.lane_id AND l.warehouse <> ''
    JOIN deliveries o ON o.notice = d.notice AND o.state = 0
    JOIN pushes p ON p.seq = o.seq AND p.due IS NOT NULL AND p.unless = 'read'
    WHERE EXISTS (SELECT 1 FROM pushes WHERE due IS NOT NULL AND unless = 'read')),
recent AS MATERIALIZED (
    SELECT r.warehouse, r.subscriber, r.inbox, r.score FROM reads r
    WHERE r.at > (SELECT min(score) FROM waiting) - ?2 AND r.score >= (SELECT min(score) FROM waiting))
SELECT min(r.subscriber), w.seq
FROM recent r JOIN waiting w ON r.warehouse = w.warehouse AND r.score >= w.score AND instr(w.inboxes, ' ' || r.inbox || ' ')
    AND (w.only IS NULL OR w.only IN (r.subscriber, r.inbox))
GROUP BY w.seq ORDER BY w.seq;

-- name: prune-reads
-- Removes watermarks that have not risen since ?1, and that cover no unexpired notice.
-- Arguments: ?1 before, ?2 now.
DELETE FROM reads WHERE at < ?1 AND NOT EXISTS (
    SELECT 1 FROM lanes l JOIN deliveries d ON d.lane_id = l.id AND d.state = 1 AND d.score <= reads.score AND d.expires_at > ?2
    WHERE l.warehouse = reads.warehouse);
