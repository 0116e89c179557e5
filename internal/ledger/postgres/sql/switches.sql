-- Live switches of rules. The argument "now" is null for the server's clock.

-- name: switches
-- Result: every switch, cleared and ended ones too, by rule and scope.
SELECT rule, scope, state, until, at, reason, actor FROM switches ORDER BY rule, scope;

-- name: switch
-- Arguments: $1 rule, $2 scope.
-- Result: the switch, if it was ever set.
SELECT rule, scope, state, until, at, reason, actor FROM switches WHERE rule = $1 AND scope = $2;

-- name: set-switch
-- Arguments: $1 rule, $2 scope, $3 state, $4 until, $5 at, $6 reason, $7 actor.
INSERT INTO switches (rule, scope, state, until, at, reason, actor) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (rule, scope) DO UPDATE
SET state = excluded.state, until = excluded.until, at = excluded.at, reason = excluded.reason, actor = excluded.actor;

-- name: thaw
-- Runs after skip. Records the last firing that fell into the time when the rule was disabled.
-- Arguments: $1 rule, $2 scope, $3 due.
UPDATE rule_scopes SET thawed_due = $3 WHERE rule = $1 AND scope = $2 AND thawed_due < $3;
