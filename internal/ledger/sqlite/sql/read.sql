-- Runs and totals for the API and the command line, and statements that remove old records.

-- name: last-runs
-- Result: the latest run of each registered rule and scope, with the numbers of findings from the last run that was
-- not skipped.
SELECT f.rule, f.scope, f.term, f.due, f.node, f.started_at, f.duration, f.outcome, f.row_count, f.matched, f.errored, coalesce(r.pending, 0),
       coalesce(r.firing, 0), f.notices, f.unsubscribed, f.strays, f.error, f.samples, f.last_due, ''
FROM rule_scopes s
JOIN firings f ON f.rule = s.rule AND f.scope = s.scope
     AND (f.term, f.due) = (SELECT k.term, k.due FROM firings k WHERE k.rule = s.rule AND k.scope = s.scope
                            ORDER BY k.term DESC, k.due DESC LIMIT 1)
LEFT JOIN firings r ON r.rule = s.rule AND r.scope = s.scope
     AND (r.term, r.due) = (SELECT k.term, k.due FROM firings k WHERE k.rule = s.rule AND k.scope = s.scope AND k.outcome <> 'skipped'
                            ORDER BY k.term DESC, k.due DESC LIMIT 1)
ORDER BY f.rule, f.scope;

-- name: progress
-- Arguments: ?1 now. Result, for each registered rule and scope: clock term and due time of the last firing that is
-- done, or the time of registration before the first; due time of the firing under a lease in force, 0 = none, and
-- its clock term; due time of the first run since which every run was degraded or failed, 0 = the last run was ok.
SELECT rule, scope, term, CASE WHEN done_due > 0 THEN done_due ELSE registered_at END,
       CASE WHEN running_due IS NOT NULL AND lease_until > ?1 THEN running_due ELSE 0 END, running_term, unwell_since
FROM rule_scopes ORDER BY rule, scope;

-- name: run-sums
-- Arguments: ?1 how many of the last records are returned. Result, for each registered rule and scope, of the kept
-- runs: their number, their rows, the rows that could not be judged, their notices, the due time of the first run, and
-- the last records of runs that were not skipped, the latest last, as outcome:earlier:µs/…
SELECT s.rule, s.scope, coalesce(sum(f.runs), 0), coalesce(sum(f.row_count * f.runs), 0), coalesce(sum(f.errored), 0), coalesce(sum(f.notices), 0), coalesce(min(f.due), 0),
       coalesce((SELECT group_concat(k.outcome || ':' || k.earlier || ':' || k.duration, '/' ORDER BY k.term, k.due)
                 FROM (SELECT term, due, outcome, earlier, duration FROM firings WHERE rule = s.rule AND scope = s.scope AND outcome <> 'skipped'
                       ORDER BY term DESC, due DESC LIMIT ?1) AS k), '')
FROM rule_scopes s LEFT JOIN firings f ON f.rule = s.rule AND f.scope = s.scope
GROUP BY s.rule, s.scope ORDER BY s.rule, s.scope;

-- name: runs
-- Arguments: ?1 rule, ?2 scope or null, ?3 limit, ?4 first due time, ?5 due time behind the last.
-- Result: records of runs, the latest first; they contain at least the latest runs due in that time, up to the
-- limit, and may contain runs due outside of it.
SELECT f.rule, f.scope, f.term, f.due, f.node, f.started_at, f.duration, f.outcome, f.row_count, f.matched, f.errored, f.pending,
       f.firing, f.notices, f.unsubscribed, f.strays, f.error, f.samples, f.last_due, f.earlier
FROM firings f WHERE f.rule = ?1 AND (?2 IS NULL OR f.scope = ?2) AND f.last_due >= ?4 AND f.due < ?5
ORDER BY f.term DESC, f.last_due DESC, f.scope LIMIT ?3;

-- name: failed-runs
-- Arguments: ?1 since, ?2 limit.
-- Result: records of runs that failed and were due at ?1 or later, the latest first.
SELECT f.rule, f.scope, f.term, f.due, f.node, f.started_at, f.duration, f.outcome, f.row_count, f.matched, f.errored, f.pending,
       f.firing, f.notices, f.unsubscribed, f.strays, f.error, f.samples, f.last_due, ''
FROM firings f WHERE f.outcome = 'failed' AND f.last_due >= ?1 ORDER BY f.last_due DESC, f.rule, f.scope LIMIT ?2;

-- name: promotions
-- Result: rule, scope, when, by whom.
SELECT rule, scope, promoted_at, promoted_by FROM rule_scopes WHERE promoted_at <> 0 ORDER BY rule, scope;

-- name: totals
-- Result: type, rule, status, number, latest creation.
SELECT type, rule, status, count(*), max(created_at) FROM notices GROUP BY type, rule, status ORDER BY type, rule, status;

-- name: version
-- Result: the version of the schema.
SELECT coalesce(max(version_id), 0) FROM ledger_schema WHERE is_applied;

-- name: oldest
-- Result: the oldest version of the schema whose program may use the ledger.
SELECT version FROM schema_oldest;

-- name: has-table
-- Arguments: ?1 a table.
-- Result: 1 = the table is there, 0 = it is not.
SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1;

-- name: long-expired
-- Pending deliveries whose notice expired long ago. If their sink no longer exists, nothing else ends them.
-- Arguments: ?1 before, ?2 limit, ?3 now.
-- Result: the numbers of deliveries.
SELECT d.seq FROM deliveries d JOIN notices n ON n.num = d.notice
WHERE d.state = 0 AND d.expires_at <= ?3 AND n.created_at < ?1 LIMIT ?2;

-- name: old-notices
-- One batch of notices that may go.
-- Arguments: ?1 before, ?2 limit, ?3 now.
-- Result: their numbers (JSON).
SELECT json_group_array(num) FROM (
    SELECT n.num FROM notices n
    WHERE n.created_at < ?1 AND n.expires_at <= ?3
      AND n.id NOT IN (SELECT f.notice_id FROM findings f)
      AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.notice = n.num AND d.state = 0)
    LIMIT ?2);

-- name: prune-pushes
-- Arguments: ?1 numbers of notices (JSON).
DELETE FROM pushes WHERE seq IN (SELECT seq FROM deliveries WHERE notice IN (SELECT value FROM json_each(?1)));

-- name: prune-marks
-- Arguments: ?1 numbers of notices (JSON).
DELETE FROM marks WHERE notice_id IN (SELECT id FROM notices WHERE num IN (SELECT value FROM json_each(?1)));

-- name: prune-deliveries
-- Arguments: ?1 numbers of notices (JSON).
-- Result: the number of rows.
DELETE FROM deliveries WHERE notice IN (SELECT value FROM json_each(?1));

-- name: prune-notices
-- Arguments: ?1 numbers (JSON).
-- Result: the number of rows.
DELETE FROM notices WHERE num IN (SELECT value FROM json_each(?1));

-- name: prune-firings
-- Removes one batch of records of runs. The records with the last runs of each rule and scope stay.
-- Arguments: ?1 how many runs stay at least, ?2 limit.
-- Result: the number of rows.
DELETE FROM firings WHERE (rule, scope, term, due) IN (
    SELECT rule, scope, term, due
    FROM (SELECT rule, scope, term, due,
                 sum(runs) OVER (PARTITION BY rule, scope ORDER BY term DESC, due DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS later
          FROM firings)
    WHERE later >= ?1 LIMIT ?2);

-- name: prune-old-firings
-- Removes old records of runs of rules and scopes that no longer exist.
-- Arguments: ?1 before.
-- Result: the number of rows.
DELETE FROM firings AS f WHERE last_due < ?1 AND NOT EXISTS (SELECT 1 FROM rule_scopes s WHERE s.rule = f.rule AND s.scope = f.scope);
