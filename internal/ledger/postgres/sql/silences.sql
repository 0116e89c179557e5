-- Silences, and what they hold back.

-- name: add-silence
-- Arguments: $1 … $10 in the order of the columns.
-- Result: the number of rows, 0 = the id exists.
INSERT INTO silences (id, matchers, from_at, until_at, cron, timezone, duration, comment, author, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING;

-- name: end-silence
-- Arguments: $1 id, $2 when, $3 by whom.
-- Result: the number of rows, 0 = the silence ended before, or does not exist.
UPDATE silences SET ended_at = $2, ended_by = $3 WHERE id = $1 AND ended_at = 0 AND (until_at = 0 OR until_at > $2);

-- name: silences
-- Arguments: $1 id, '' = all.
-- Result: the columns of codec.Silence, the latest first.
SELECT id, matchers, from_at, until_at, cron, timezone, duration, comment, author, created_at, ended_at, ended_by, events
FROM silences WHERE $1 = '' OR id = $1 ORDER BY created_at DESC, id;

-- name: silenced-findings
-- Result: ids of silences, separated by spaces, and how many findings all of these hold back.
SELECT silenced, count(*) FROM findings WHERE silenced <> '' GROUP BY silenced;

-- name: silenced-pushes
-- Arguments: $1 now.
-- Result: id of a silence, and how many deliveries it holds back.
SELECT held, count(*) FROM pushes WHERE held <> '' AND due IS NOT NULL AND due = held_until AND due > (SELECT ledger_now($1)) GROUP BY held;

-- name: count-events
-- Arguments: $1 id, $2 how many.
UPDATE silences SET events = events + $2 WHERE id = $1;

-- name: settle-hold
-- Puts off deliveries that a silence holds back, unless the silence has been ended. It locks the silence. So EndSilence
-- waits for this transaction, and then also releases the deliveries of this statement.
-- Arguments: $1 seqs, $2 tokens, $3 µs, $4 silences, $5 now.
WITH live AS MATERIALIZED (SELECT id FROM silences WHERE id = ANY($4::text[]) AND ended_at = 0 FOR SHARE),
held AS MATERIALIZED ( -- the clock is read once: due and held_until are the same
    SELECT s.seq, s.token, v.id, ledger_now($5) + CASE WHEN v.id IS NULL THEN 0 ELSE s.after END AS until
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) AS s (seq, token, after, silence)
    LEFT JOIN live v ON v.id = s.silence)
UPDATE pushes p SET due = h.until, held_until = h.until, held = coalesce(h.id, ''), until = 0, node = ''
FROM held h
WHERE p.seq = h.seq AND p.token = h.token AND p.node <> '';

-- name: let-go
-- Makes all deliveries due that the silence holds back.
-- Arguments: $1 id, $2 now.
UPDATE pushes p SET due = (SELECT ledger_now($2)), held = ''
WHERE p.due = p.held_until AND p.seq = ANY (ARRAY(
    SELECT h.seq FROM pushes h WHERE h.held = $1 AND h.held <> '' AND h.due IS NOT NULL ORDER BY h.seq FOR UPDATE));

-- name: prune-silences
-- Arguments: $1 before.
-- Result: the number of rows.
DELETE FROM silences WHERE ended_at > 0 AND ended_at < $1 OR until_at > 0 AND until_at < $1;
