-- The transaction that commits a run. insertRows extends an INSERT of one row to several rows: the text after VALUES is
-- the pattern of a row.

-- name: fence
-- Arguments: ?1 rule, ?2 scope.
-- Result: id, token, the due time of the running firing (0 = none runs).
SELECT id, token, coalesce(running_due, 0) FROM rule_scopes WHERE rule = ?1 AND scope = ?2;

-- name: last-answer
-- Arguments: ?1 rule, ?2 scope, ?3 due, ?4 token, ?5 clock term.
-- Result: the answer to the last commit of that firing under that token; no row if there was no commit.
SELECT f.answer
FROM (SELECT answer, token, last_due FROM firings WHERE rule = ?1 AND scope = ?2 AND term = ?5 AND due <= ?3 ORDER BY due DESC LIMIT 1) AS f
WHERE f.token = ?4 AND f.last_due = ?3;

-- name: existing-notices
-- Arguments: ?1 ids (JSON).
-- Result: the ids of the existing notices.
SELECT id FROM notices WHERE id IN (SELECT value FROM json_each(?1));

-- name: recipients
-- Arguments: ?1 type, ?2 warehouse, ?3 name of the address that subscribers must have, '' = none.
-- Result: the subscribers, sorted.
SELECT DISTINCT s.subscriber FROM subscriptions s
WHERE s.type = ?1 AND s.warehouse IN (?2, '*')
  AND (?3 = '' OR EXISTS (SELECT 1 FROM subscribers b WHERE b.subscriber = s.subscriber AND instr(' ' || b.reach || ' ', ' ' || ?3 || ' ')))
ORDER BY s.subscriber;

-- name: has-address
-- Arguments: ?1 subscriber, ?2 name of the address.
-- Result: a row if the subscriber has it.
SELECT 1 FROM subscribers WHERE subscriber = ?1 AND instr(' ' || reach || ' ', ' ' || ?2 || ' ');

-- name: told
-- Where notices went.
-- Arguments: ?1 ids (JSON).
-- Result: id, sink, warehouse, recipients, whether the notice was sent there or is on its way.
SELECT n.id, l.sink, l.warehouse, d.recipients, d.state IN (0, 1)
FROM notices n JOIN deliveries d ON d.notice = n.num JOIN lanes l ON l.id = d.lane_id
WHERE n.id IN (SELECT value FROM json_each(?1));

-- name: insert-notices
INSERT INTO notices (num, id, type, rule, status, created_at, expires_at, body, finding, warehouse, priority)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: insert-deliveries
INSERT INTO deliveries (seq, notice, lane_id, expires_at, recipients) VALUES (?, ?, ?, ?, ?);

-- name: last-seq
-- Result: the highest number that a delivery ever had; none before the first.
SELECT seq FROM sqlite_sequence WHERE name = 'deliveries';

-- name: insert-pushes
INSERT INTO pushes (seq, due, first_due, deadline, ends, finding, addressee, lane_id, kind, unless, delay, at, within, retry)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: open-pushes
-- The open deliveries of findings. A delivery that a node has claimed and not settled counts as tried, because its
-- recipients may have received it.
-- Arguments: ?1 numbers of findings (JSON), ?2 ids of notices whose findings are over (JSON), ?3 and ?4 the lowest
-- and the highest number of a finding of the rule in the scope, ?5 ids of retracted firing notices (JSON).
-- Result: the columns of codec.OpenPush, in the order of seq, and the body of a firing notice that may be an earlier
-- one of the same episodes.
WITH over AS MATERIALIZED (
    SELECT DISTINCT n.finding AS finding FROM notices n
    WHERE EXISTS (SELECT 1 FROM pushes p WHERE p.due IS NOT NULL AND p.finding BETWEEN ?3 AND ?4)
      AND n.id IN (SELECT value FROM json_each(?2)))
SELECT p.seq, p.finding, p.addressee, l.sink, p.unless, d.attempts > 0 OR p.node <> '',
       p.finding IN (SELECT finding FROM over), n.id, d.recipients,
       CASE WHEN n.status = 'firing' AND json_array_length(?5) > 0 AND n.id NOT IN (SELECT value FROM json_each(?5)) THEN n.body END
FROM pushes p
JOIN deliveries d ON d.seq = p.seq
JOIN notices n ON n.num = d.notice
JOIN lanes l ON l.id = p.lane_id
WHERE p.due IS NOT NULL AND p.finding IN (SELECT finding FROM over UNION SELECT value FROM json_each(?1))
ORDER BY p.seq;

-- name: sent-pushes
-- Which push channels received notices of a finding.
-- Arguments: ?1 id of the firing notice, ?2 number of the finding, ?3 when its episode began.
-- Result: for this notice, and for each notice that may be an earlier one of its episode: sink, recipients of the
-- sent deliveries there (JSON), body.
SELECT l.sink, json_group_array(d.recipients), n.body
FROM (SELECT num FROM notices WHERE id = ?1
      UNION SELECT num FROM notices WHERE finding = ?2 AND created_at >= ?3 AND status = 'firing') AS o
JOIN notices n ON n.num = o.num
JOIN deliveries d ON d.notice = n.num AND d.state = 1
JOIN pushes p ON p.seq = d.seq
JOIN lanes l ON l.id = p.lane_id
GROUP BY n.num, l.id;

-- name: insert-findings
INSERT INTO findings (scope_id, key_hash, key, phase, priority, ordinal, episode, since_clock, absent_since, firing_since,
                      last_notified, notice_id, group_key, silenced, watched, baseline, warehouse, term, last_row, row_due)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: update-finding
-- Where the row is null, the old row stays. Where the notice is unchanged, the warehouse stays.
-- Arguments: ?1 scope id, ?2 hash of the key, ?3 key, then the other columns.
-- Result: the number of rows.
UPDATE findings
SET phase = ?4, priority = ?5, ordinal = ?6, episode = ?7, since_clock = ?8, absent_since = ?9, firing_since = ?10,
    last_notified = ?11, notice_id = ?12, group_key = ?13, silenced = ?14, watched = ?15, baseline = ?16,
    warehouse = CASE WHEN notice_id = ?12 THEN warehouse ELSE ?17 END, term = ?18,
    last_row = coalesce(?19, last_row), row_due = CASE WHEN ?19 IS NULL THEN row_due ELSE ?20 END
WHERE scope_id = ?1 AND key_hash = ?2 AND key = ?3;

-- name: delete-findings
-- Arguments: ?1 scope id, ?2 hashes (JSON) of keys.
-- Result: the number of rows.
DELETE FROM findings WHERE scope_id = ?1 AND key_hash IN (SELECT unhex(value) FROM json_each(?2));

-- name: record-run
-- Writes the record of a firing, or adds to it if the firing is committed in parts.
-- Arguments: ?1 … ?20 in the order of the columns.
INSERT INTO firings (rule, scope, term, due, token, answer, node, started_at, duration, outcome, row_count, matched,
                     errored, pending, firing, notices, unsubscribed, strays, error, samples, last_due)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?4)
ON CONFLICT (rule, scope, term, due) DO UPDATE
SET token = excluded.token, answer = excluded.answer, node = excluded.node, duration = duration + excluded.duration,
    outcome = CASE WHEN outcome = 'degraded' AND excluded.outcome = 'ok' THEN 'degraded' ELSE excluded.outcome END,
    row_count = row_count + excluded.row_count, matched = matched + excluded.matched,
    errored = errored + excluded.errored, pending = excluded.pending, firing = excluded.firing,
    notices = notices + excluded.notices, unsubscribed = unsubscribed + excluded.unsubscribed, strays = strays + excluded.strays,
    error = excluded.error, samples = CASE WHEN excluded.samples = '' THEN samples ELSE excluded.samples END;

-- name: add-run
-- Adds a run that changed nothing to the record of earlier runs with the same result.
-- Arguments: ?1 rule, ?2 scope, ?3 clock term, ?4 due, ?5 token, ?6 answer, ?7 node, ?8 start time, ?9 duration, ?10
-- rows, ?11 matched rows, ?12 pending, ?13 firing, ?14 how many runs a record has at most.
-- Result: the number of rows, 0 = there is no such record.
UPDATE firings AS r
SET token = ?5, answer = ?6, last_due = ?4, started_at = ?8, duration = ?9, runs = runs + 1,
    earlier = earlier
              || CASE WHEN (last_due - due) % 1000000 = 0 THEN ((last_due - due) / 1000000) || 's' ELSE CAST(last_due - due AS TEXT) END
              || ',' || (started_at - last_due) || ',' || duration || ';'
WHERE rule = ?1 AND scope = ?2
  AND (term, due) = (SELECT k.term, k.due FROM firings k WHERE k.rule = ?1 AND k.scope = ?2 ORDER BY k.term DESC, k.due DESC LIMIT 1)
  AND term = ?3 AND last_due < ?4 AND runs < ?14 AND outcome = 'ok' AND notices = 0 AND unsubscribed = 0 AND node = ?7
  AND row_count = ?10 AND matched = ?11 AND pending = ?12 AND firing = ?13;

-- name: record-scope
-- Writes the state after the run. The claim ends, unless the firing goes on.
-- Arguments: ?1 id, ?2 last due, ?3 last ok due, ?4 clock, ?5 watermark or null, ?6 due, ?7 goes on, ?8 where
-- resolutions go, ?9 clock term of the firing, ?10 `initial` of the watermark, '' = unchanged.
UPDATE rule_scopes AS s
SET last_due = ?2, last_ok_due = ?3, clock = ?4,
    unwell_since = CASE WHEN EXISTS (SELECT 1 FROM firings f WHERE f.rule = s.rule AND f.scope = s.scope AND f.term = ?9 AND f.due = ?6
                                     AND f.outcome IN ('degraded', 'failed'))
                        THEN coalesce(nullif(unwell_since, 0), ?6) ELSE 0 END,
    watermark = coalesce(?5, watermark),
    term = CASE WHEN ?7 THEN term ELSE max(term, ?9) END,
    done_due = CASE WHEN ?7 OR term > ?9 THEN done_due WHEN term < ?9 THEN ?6 ELSE max(done_due, ?6) END,
    running_due = CASE WHEN ?7 THEN running_due END, repeated = ?7 AND repeated, back = ?8, initial = coalesce(nullif(?10, ''), initial)
WHERE id = ?1;

-- The rows that TryCommit writes and removes again: every commit of a run writes such rows. No rule is called ''. The
-- firing takes more room than most firings. If the disk has room for this firing, other commits have room as well.

-- name: try-scope
-- No arguments, no result.
INSERT INTO rule_scopes (id, rule, scope, registered_at) VALUES (-1, '', '', 0);

-- name: try-firing
-- No arguments, no result.
INSERT INTO firings (rule, scope, due, token, answer, node, started_at, duration, outcome, row_count, matched, errored, pending, firing, notices, unsubscribed, error, samples, last_due)
VALUES ('', '', 0, 0, '', '', 0, 0, '', 0, 0, 0, 0, 0, 0, 0, '', printf('%.*c', 1800, 'x'), 0);

-- name: end-try-firing
-- No arguments, no result.
DELETE FROM firings WHERE rule = '' AND scope = '' AND due = 0;

-- name: end-try-scope
-- No arguments, no result.
DELETE FROM rule_scopes WHERE id = -1;
