-- Rules in scopes: registration, claims, state. Times are µs.

-- name: scope
-- The state of a rule in a scope.
-- Arguments: ?1 rule, ?2 scope, ?3 now.
-- Result: one row or none.
SELECT registered_at, last_due, last_ok_due, clock, done_due, watermark, token, coalesce(running_due, 0),
       running_node, lease_until, repeated, running_due IS NOT NULL AND lease_until > ?3, promoted_at, promoted_by,
       thawed_due, term, running_term, initial
FROM rule_scopes WHERE rule = ?1 AND scope = ?2;

-- name: register
-- Registers the rule and scope, unless they are known.
-- Arguments: ?1 rule, ?2 scope, ?3 clock term, ?4 registered at.
INSERT INTO rule_scopes (rule, scope, term, registered_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (rule, scope) DO NOTHING;

-- name: take-number
-- Arguments: ?1 name, ?2 how many.
-- Result: the last number taken.
UPDATE ledger_numbers SET value = value + ?2 WHERE name = ?1 RETURNING value;

-- name: claim-before
-- Arguments: ?1 rule, ?2 scope, ?3 node.
-- Result: the previous token, if the same node had it and that claim is over.
SELECT token FROM rule_scopes WHERE rule = ?1 AND scope = ?2 AND running_node = ?3 AND running_due IS NULL;

-- name: claim
-- Claims the abandoned firing if there is one. Otherwise claims the requested firing, if it is not done yet and no
-- firing runs.
-- Arguments: ?1 rule, ?2 scope, ?3 due, ?4 node, ?5 lease until, ?6 now, ?7 token, ?8 clock term.
-- Result: term, due, repeated; no row when the firing is not free.
UPDATE rule_scopes
SET token = ?7, repeated = running_due IS NOT NULL, running_term = CASE WHEN running_due IS NULL THEN ?8 ELSE running_term END,
    running_due = coalesce(running_due, ?3), running_node = ?4, lease_until = ?5
WHERE rule = ?1 AND scope = ?2
  AND CASE WHEN running_due IS NULL THEN (term, done_due) < (?8, ?3) ELSE lease_until <= ?6 END
RETURNING running_term, running_due, repeated;

-- name: renew
-- Arguments: ?1 rule, ?2 scope, ?3 token, ?4 due, ?5 lease in µs, ?6 now.
-- Result: the number of rows, 0 = fenced.
UPDATE rule_scopes SET lease_until = ?6 + ?5 WHERE rule = ?1 AND scope = ?2 AND token = ?3 AND running_due = ?4;

-- name: release
-- Gives the firing back. The token moves on, so that the old claim is void.
-- Arguments: ?1 rule, ?2 scope, ?3 token, ?4 due, ?5 the next token.
-- Result: the number of rows, 0 = fenced.
UPDATE rule_scopes SET token = ?5, lease_until = 0 WHERE rule = ?1 AND scope = ?2 AND token = ?3 AND running_due = ?4;

-- name: abandoned
-- Arguments: ?1 now.
-- Result: the unfinished firings without a lease in force.
SELECT rule, scope, running_term, running_due, running_node, token, lease_until FROM rule_scopes
WHERE running_due IS NOT NULL AND lease_until <= ?1 ORDER BY rule, scope;

-- name: skip
-- Makes a skipped firing the last firing of the rule in the scope, unless the skipped firing runs or is done.
-- Arguments: ?1 rule, ?2 scope, ?3 due, ?4 clock term.
-- Result: the number of rows, 0 = nothing to skip.
UPDATE rule_scopes SET term = ?4, done_due = ?3
WHERE rule = ?1 AND scope = ?2 AND (term, done_due) < (?4, ?3) AND (running_due IS NULL OR (running_term, running_due) <> (?4, ?3));

-- name: record-skip
-- Arguments: ?1 rule, ?2 scope, ?3 due, ?4 node, ?5 reason, ?6 now, ?7 clock term.
INSERT INTO firings (rule, scope, term, due, token, answer, node, started_at, duration, outcome, row_count, matched, errored,
                     pending, firing, notices, unsubscribed, error, samples, last_due)
VALUES (?1, ?2, ?7, ?3, 0, '', ?4, ?6, 0, 'skipped', 0, 0, 0, 0, 0, 0, 0, ?5, '', ?3)
ON CONFLICT (rule, scope, term, due) DO NOTHING;

-- name: promotion
-- Arguments: ?1 rule, ?2 scope.
-- Result: since when the rule is live in spite of its file, and who promoted it; 0 = not promoted; no row = not
-- registered.
SELECT promoted_at, promoted_by FROM rule_scopes WHERE rule = ?1 AND scope = ?2;

-- name: promote
-- Arguments: ?1 rule, ?2 scope, ?3 by, ?4 at; '' and 0 take the promotion back.
UPDATE rule_scopes SET promoted_by = ?3, promoted_at = ?4 WHERE rule = ?1 AND scope = ?2;

-- name: rewound
-- Arguments: ?1 rule, ?2 scope, ?3 now.
-- Result: id, watermark, whether a firing runs; no row = not registered.
SELECT id, watermark, running_due IS NOT NULL AND lease_until > ?3 FROM rule_scopes WHERE rule = ?1 AND scope = ?2;

-- name: rewind
-- Moves the watermark. The token moves on, so that a claim whose lease is over is void.
-- Arguments: ?1 id, ?2 watermark, ?3 `initial`.
UPDATE rule_scopes SET watermark = ?2, initial = ?3, token = token + 1, lease_until = 0 WHERE id = ?1;

-- name: findings
-- Arguments: ?1 rule, ?2 scope.
-- Result: all open findings.
SELECT f.key, f.phase, f.episode, f.since_clock, f.absent_since, f.firing_since, f.priority, f.last_notified, f.ordinal,
       f.notice_id, f.group_key, f.silenced, f.watched, f.baseline, f.term
FROM findings f JOIN rule_scopes s ON s.id = f.scope_id WHERE s.rule = ?1 AND s.scope = ?2;

-- name: outlines
-- Arguments: ?1 rule, ?2 scope, ?3 hashes of keys (JSON).
-- Result: the outlines of all open findings except the findings with these keys.
SELECT f.key_hash, f.phase, f.since_clock, f.absent_since, f.priority, f.last_notified, f.ordinal, f.silenced, f.watched, f.baseline
FROM findings f JOIN rule_scopes s ON s.id = f.scope_id WHERE s.rule = ?1 AND s.scope = ?2 AND f.key_hash NOT IN (SELECT unhex(value) FROM json_each(?3));

-- name: open-findings
-- Arguments: ?1 rule, ?2 scope, ?3 hashes (JSON) of keys.
-- Result: these open findings, as in findings.
SELECT f.key, f.phase, f.episode, f.since_clock, f.absent_since, f.firing_since, f.priority, f.last_notified, f.ordinal,
       f.notice_id, f.group_key, f.silenced, f.watched, f.baseline, f.term
FROM findings f JOIN rule_scopes s ON s.id = f.scope_id WHERE s.rule = ?1 AND s.scope = ?2 AND f.key_hash IN (SELECT unhex(value) FROM json_each(?3));

-- name: carriers
-- Arguments: ?1 rule, ?2 scope, ?3 ids (JSON) of notices.
-- Result: id of a notice, and how many open findings carry the notice.
SELECT f.notice_id, count(*)
FROM findings f JOIN rule_scopes s ON s.id = f.scope_id WHERE s.rule = ?1 AND s.scope = ?2 AND f.notice_id IN (SELECT value FROM json_each(?3)) GROUP BY f.notice_id;

-- name: notices
-- Arguments: ?1 ids (JSON).
-- Result: the bodies of the existing notices.
SELECT body FROM notices WHERE id IN (SELECT value FROM json_each(?1));

-- name: scopes
-- Result: every registered rule and scope, with the due time of its last run, and where resolutions go.
SELECT rule, scope, last_due, back FROM rule_scopes ORDER BY rule, scope;

-- name: fence-removed
-- Finds the rule and scope, unless a run has come since the findings were read. The token moves on. So a claim in force
-- becomes void, and a node that has the findings in memory reads them again.
-- Arguments: ?1 rule, ?2 scope, ?3 due time of the last run.
-- Result: id.
UPDATE rule_scopes SET token = token + 1, lease_until = 0 WHERE rule = ?1 AND scope = ?2 AND last_due = ?3 RETURNING id;

-- name: forget-findings
-- Arguments: ?1 id of a rule_scope.
DELETE FROM findings WHERE scope_id = ?1;

-- name: forget-plans
-- Arguments: ?1 id of a rule_scope.
DELETE FROM probe_plans
WHERE (rule, scope) IN (SELECT rule, scope FROM rule_scopes WHERE id = ?1);

-- name: forget
-- Arguments: ?1 id of a rule_scope.
DELETE FROM rule_scopes WHERE id = ?1;
