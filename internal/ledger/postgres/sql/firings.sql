-- Rules in scopes: registration, claims, state. Times are µs; the argument "now" is null for the server's clock.

-- name: scope
-- The state of a rule in a scope.
-- Arguments: $1 rule, $2 scope, $3 now.
-- Result: one row or none.
SELECT registered_at, last_due, last_ok_due, clock, done_due, watermark, token, coalesce(running_due, 0),
       running_node, lease_until, repeated, running_due IS NOT NULL AND lease_until > (SELECT ledger_now($3)),
       promoted_at, promoted_by, thawed_due, term, running_term, initial
FROM rule_scopes WHERE rule = $1 AND scope = $2;

-- name: register
-- Registers the rule and scope, unless they are known.
-- Arguments: $1 rule, $2 scope, $3 clock term, $4 registered at.
INSERT INTO rule_scopes (rule, scope, term, registered_at) VALUES ($1, $2, $3, $4) ON CONFLICT (rule, scope) DO NOTHING;

-- name: register-many
-- register, for many. Rules and scopes that are registered already use up no id. The rows are in the order of the key,
-- so that two nodes cannot deadlock. Arguments, all of the same length: $1 rules, $2 scopes, $3 clock terms, $4
-- registered at.
INSERT INTO rule_scopes (rule, scope, term, registered_at)
SELECT w.rule, w.scope, w.term, w.at
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS w (rule, scope, term, at)
WHERE NOT EXISTS (SELECT FROM rule_scopes s WHERE s.rule = w.rule COLLATE "C" AND s.scope = w.scope COLLATE "C")
ORDER BY w.rule COLLATE "C", w.scope COLLATE "C"
ON CONFLICT (rule, scope) DO NOTHING;

-- name: scope-many
-- scope, for many.
-- Arguments: $1 rules, $2 scopes, all of the same length; $3 now.
-- Result: position (from 1), and the columns of scope.
SELECT w.n, s.registered_at, s.last_due, s.last_ok_due, s.clock, s.done_due, s.watermark, s.token, coalesce(s.running_due, 0),
       s.running_node, s.lease_until, s.repeated, s.running_due IS NOT NULL AND s.lease_until > (SELECT ledger_now($3)),
       s.promoted_at, s.promoted_by, s.thawed_due, s.term, s.running_term, s.initial
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w (rule, scope, n)
JOIN rule_scopes s ON s.rule = w.rule COLLATE "C" AND s.scope = w.scope COLLATE "C";

-- name: claim
-- Claims the abandoned firing if there is one. Otherwise claims the requested firing, if it is not done yet and no
-- firing runs.
-- Arguments: $1 rule, $2 scope, $3 due, $4 node, $5 lease in µs, $6 now, $7 clock term.
-- Result: token, term, due, lease until, repeated; no row when the firing is not free.
UPDATE rule_scopes
SET token = nextval('ledger_token'), repeated = running_due IS NOT NULL,
    running_term = CASE WHEN running_due IS NULL THEN $7 ELSE running_term END, running_due = coalesce(running_due, $3),
    running_node = $4, lease_until = ledger_now($6) + $5
WHERE rule = $1 AND scope = $2
  AND CASE WHEN running_due IS NULL THEN (term, done_due) < ($7::bigint, $3::bigint) ELSE lease_until <= (SELECT ledger_now($6)) END
RETURNING token, running_term, running_due, lease_until, repeated;

-- name: any-length
-- Makes the server plan the next statement of the transaction only once, for arrays of any length and by index only.
-- Planning it each time takes longer than running it.
SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);

-- name: claim-many
-- Claims firings that no node has started. The statement leaves out scopes with a firing that a node has started or
-- abandoned, and rows that another transaction has locked.
-- Arguments, all of the same length: $1 rules, $2 scopes, $3 clock terms, $4 dues; $5 node, $6 lease in µs, $7 now.
-- Result: position (from 1), token (0 = the firing is done), lease until, the previous token if the same node had it
-- (otherwise 0), and the columns of scope before the claim.
WITH w AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS w (rule, scope, term, due, n)),
free AS MATERIALIZED (
    SELECT w.n, w.term AS asked, w.due, s.*
    FROM w
    JOIN rule_scopes s ON s.rule = w.rule COLLATE "C" AND s.scope = w.scope COLLATE "C" AND s.running_due IS NULL AND (s.term, s.done_due) < (w.term, w.due)
    ORDER BY s.id FOR NO KEY UPDATE OF s SKIP LOCKED),
taken AS (
    UPDATE rule_scopes s
    SET token = nextval('ledger_token'), repeated = false, running_term = f.asked, running_due = f.due, running_node = $5, lease_until = ledger_now($7) + $6
    FROM free f WHERE s.id = f.id
    RETURNING f.n, s.token AS given, s.lease_until AS until, CASE WHEN f.running_node = $5 THEN f.token ELSE 0 END AS before,
              f.registered_at, f.last_due, f.last_ok_due, f.clock, f.done_due, f.watermark, f.token, 0::bigint, f.running_node, f.lease_until, false, false,
              f.promoted_at, f.promoted_by, f.thawed_due, f.term, f.running_term, f.initial)
SELECT * FROM taken
UNION ALL
SELECT w.n, 0, 0, 0,
       s.registered_at, s.last_due, s.last_ok_due, s.clock, s.done_due, s.watermark, s.token, 0::bigint, s.running_node, s.lease_until, false, false,
       s.promoted_at, s.promoted_by, s.thawed_due, s.term, s.running_term, s.initial
FROM w
JOIN rule_scopes s ON s.rule = w.rule COLLATE "C" AND s.scope = w.scope COLLATE "C" AND s.running_due IS NULL AND (s.term, s.done_due) >= (w.term, w.due);

-- name: renew
-- Arguments: $1 rule, $2 scope, $3 token, $4 due, $5 lease in µs, $6 now.
-- Result: the number of rows, 0 = fenced.
UPDATE rule_scopes SET lease_until = ledger_now($6) + $5
WHERE rule = $1 AND scope = $2 AND token = $3 AND running_due = $4;

-- name: release
-- Gives the firing back. The token moves on, so that the old claim is void.
-- Arguments: $1 rule, $2 scope, $3 token, $4 due.
-- Result: the number of rows, 0 = fenced.
UPDATE rule_scopes SET token = nextval('ledger_token'), lease_until = 0
WHERE rule = $1 AND scope = $2 AND token = $3 AND running_due = $4;

-- name: abandoned
-- Arguments: $1 now.
-- Result: the unfinished firings without a lease in force.
SELECT rule, scope, running_term, running_due, running_node, token, lease_until FROM rule_scopes
WHERE running_due IS NOT NULL AND lease_until <= (SELECT ledger_now($1)) ORDER BY rule, scope;

-- name: skip
-- Makes a skipped firing the last firing of the rule in the scope, unless the skipped firing runs or is done.
-- Arguments: $1 rule, $2 scope, $3 due, $4 clock term.
-- Result: the number of rows, 0 = nothing to skip.
UPDATE rule_scopes SET term = $4, done_due = $3
WHERE rule = $1 AND scope = $2 AND (term, done_due) < ($4::bigint, $3::bigint)
  AND (running_due IS NULL OR (running_term, running_due) <> ($4::bigint, $3::bigint));

-- name: record-skip
-- Records a skipped firing. An earlier skipped firing moves to past_firings.
-- Arguments: $1 rule, $2 scope, $3 due, $4 node, $5 reason, $6 now, $7 clock term.
WITH passed AS (DELETE FROM firings WHERE rule = $1 AND scope = $2 AND (term, due) < ($7::bigint, $3::bigint) AND outcome = 'skipped' RETURNING *),
past AS (INSERT INTO past_firings SELECT * FROM passed ON CONFLICT DO NOTHING)
INSERT INTO firings (rule, scope, term, due, token, answer, node, started_at, duration, outcome, row_count, matched, errored,
                     pending, firing, notices, unsubscribed, error, samples, last_due)
VALUES ($1, $2, $7, $3, 0, '', $4, ledger_now($6), 0, 'skipped', 0, 0, 0, 0, 0, 0, 0, $5, '', $3)
ON CONFLICT (rule, scope, term, due) DO NOTHING;

-- name: skip-many
-- skip and record-skip, for many at once. The statement leaves out firings that run or are done, and rows that another
-- transaction has locked.
-- Arguments, all of the same length: $1 rules, $2 scopes, $3 clock terms, $4 dues, $5 nodes, $6 reasons; $7 now.
-- Result: the positions (from 1) of the recorded firings.
WITH late AS MATERIALIZED (
    SELECT q.*, s.id
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[]) WITH ORDINALITY AS q (rule, scope, term, due, node, reason, n)
    JOIN rule_scopes s ON s.rule = q.rule COLLATE "C" AND s.scope = q.scope COLLATE "C" AND (s.term, s.done_due) < (q.term, q.due)
         AND (s.running_due IS NULL OR (s.running_term, s.running_due) <> (q.term, q.due))
    ORDER BY s.id FOR NO KEY UPDATE OF s SKIP LOCKED),
moved AS (UPDATE rule_scopes s SET term = l.term, done_due = l.due FROM late l WHERE s.id = l.id RETURNING l.*),
passed AS (
    DELETE FROM firings r USING moved m
    WHERE r.rule = m.rule COLLATE "C" AND r.scope = m.scope COLLATE "C" AND (r.term, r.due) < (m.term, m.due) AND r.outcome = 'skipped'
    RETURNING r.*),
past AS (INSERT INTO past_firings SELECT * FROM passed ON CONFLICT DO NOTHING),
recorded AS (
    INSERT INTO firings (rule, scope, term, due, token, answer, node, started_at, duration, outcome, row_count, matched, errored,
                         pending, firing, notices, unsubscribed, error, samples, last_due)
    SELECT m.rule, m.scope, m.term, m.due, 0, '', m.node, ledger_now($7), 0, 'skipped', 0, 0, 0, 0, 0, 0, 0, m.reason, '', m.due
    FROM moved m ON CONFLICT (rule, scope, term, due) DO NOTHING)
SELECT n FROM moved;

-- name: promotion
-- Arguments: $1 rule, $2 scope.
-- Result: since when the rule is live in spite of its file, and who promoted it; 0 = not promoted; no row = not
-- registered.
SELECT promoted_at, promoted_by FROM rule_scopes WHERE rule = $1 AND scope = $2 FOR NO KEY UPDATE;

-- name: promote
-- Arguments: $1 rule, $2 scope, $3 by, $4 at; '' and 0 take the promotion back.
UPDATE rule_scopes SET promoted_by = $3, promoted_at = $4 WHERE rule = $1 AND scope = $2;

-- name: rewound
-- Locks the rule and scope.
-- Arguments: $1 rule, $2 scope, $3 now.
-- Result: id, watermark, whether a firing runs; no row = not registered.
SELECT id, watermark, running_due IS NOT NULL AND lease_until > (SELECT ledger_now($3)) FROM rule_scopes WHERE rule = $1 AND scope = $2 FOR NO KEY UPDATE;

-- name: rewind
-- Moves the watermark. The token moves on, so that a claim whose lease is over is void.
-- Arguments: $1 id, $2 watermark, $3 `initial`.
UPDATE rule_scopes SET watermark = $2, initial = $3, token = nextval('ledger_token'), lease_until = 0 WHERE id = $1;

-- name: findings
-- Arguments: $1 rule, $2 scope.
-- Result: all open findings.
SELECT f.key, f.phase, f.episode, f.since_clock, f.absent_since, f.firing_since, f.priority, f.last_notified, f.ordinal,
       f.notice_id, f.group_key, f.silenced, f.watched, f.baseline, f.term
FROM findings f JOIN rule_scopes s ON s.id = f.scope_id WHERE s.rule = $1 AND s.scope = $2;

-- name: outlines
-- Arguments: $1 rule, $2 scope, $3 hashes of keys.
-- Result: the outlines of all open findings except the findings with these keys.
SELECT uuid_send(f.key_hash), f.phase, f.since_clock, f.absent_since, f.priority, f.last_notified, f.ordinal, f.silenced, f.watched, f.baseline
FROM findings f JOIN rule_scopes s ON s.id = f.scope_id WHERE s.rule = $1 AND s.scope = $2 AND f.key_hash <> ALL($3::text[]::uuid[]);

-- name: open-findings
-- Arguments: $1 rule, $2 scope, $3 hashes of keys.
-- Result: these open findings, as in findings.
SELECT f.key, f.phase, f.episode, f.since_clock, f.absent_since, f.firing_since, f.priority, f.last_notified, f.ordinal,
       f.notice_id, f.group_key, f.silenced, f.watched, f.baseline, f.term
FROM findings f JOIN rule_scopes s ON s.id = f.scope_id WHERE s.rule = $1 AND s.scope = $2 AND f.key_hash = ANY($3::text[]::uuid[]);

-- name: carriers
-- Arguments: $1 rule, $2 scope, $3 ids of notices.
-- Result: id of a notice, and how many open findings carry the notice.
SELECT f.notice_id, count(*)
FROM findings f JOIN rule_scopes s ON s.id = f.scope_id WHERE s.rule = $1 AND s.scope = $2 AND f.notice_id = ANY($3::text[]) GROUP BY f.notice_id;

-- name: notices
-- Arguments: $1 ids.
-- Result: the bodies of the existing notices.
SELECT body FROM notices WHERE id = ANY($1::text[]);

-- name: scopes
-- Result: every registered rule and scope, with the due time of its last run, and where resolutions go.
SELECT rule, scope, last_due, back FROM rule_scopes ORDER BY rule, scope;

-- name: fence-removed
-- Locks the rule and scope, unless a run has come since the findings were read. The token moves on. So a claim in force
-- becomes void, and a node that has the findings in memory reads them again.
-- Arguments: $1 rule, $2 scope, $3 due time of the last run.
-- Result: id.
UPDATE rule_scopes SET token = nextval('ledger_token'), lease_until = 0 WHERE rule = $1 AND scope = $2 AND last_due = $3 RETURNING id;

-- name: forget-plans
-- Arguments: $1 id of a rule_scope.
DELETE FROM probe_plans p USING rule_scopes s WHERE s.id = $1 AND p.rule = s.rule AND p.scope = s.scope;

-- name: forget
-- Arguments: $1 id of a rule_scope.
DELETE FROM rule_scopes WHERE id = $1;

-- name: forget-findings
-- Arguments: $1 id of a rule_scope.
DELETE FROM findings WHERE scope_id = $1;
