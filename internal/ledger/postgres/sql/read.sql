-- Runs and totals for the API and the command line, and statements that remove old records.

-- name: last-runs
-- Result: the latest run of each registered rule and scope, with the numbers of findings from the last run that was
-- not skipped.
SELECT f.rule, f.scope, f.term, f.due, f.node, f.started_at, f.duration, f.outcome, f.row_count, f.matched, f.errored, coalesce(r.pending, 0),
       coalesce(r.firing, 0), f.notices, f.unsubscribed, f.strays, f.error, f.samples, f.last_due, ''
FROM rule_scopes s
CROSS JOIN LATERAL (SELECT * FROM firings f WHERE f.rule = s.rule AND f.scope = s.scope ORDER BY f.term DESC, f.due DESC LIMIT 1) AS f
LEFT JOIN LATERAL (SELECT r.pending, r.firing FROM firings r WHERE r.rule = s.rule AND r.scope = s.scope AND r.outcome <> 'skipped'
                   ORDER BY r.term DESC, r.due DESC LIMIT 1) AS r ON true
ORDER BY f.rule, f.scope;

-- name: progress
-- Arguments: $1 now. Result, for each registered rule and scope: clock term and due time of the last firing that is
-- done, or the time of registration before the first; due time of the firing under a lease in force, 0 = none, and
-- its clock term; due time of the first run since which every run was degraded or failed, 0 = the last run was ok.
SELECT rule, scope, term, CASE WHEN done_due > 0 THEN done_due ELSE registered_at END,
       CASE WHEN running_due IS NOT NULL AND lease_until > (SELECT ledger_now($1)) THEN running_due ELSE 0 END, running_term, unwell_since
FROM rule_scopes ORDER BY rule, scope;

-- name: run-sums
-- Arguments: $1 how many of the last records are returned. Result, for each registered rule and scope, of the kept
-- runs: their number, their rows, the rows that could not be judged, their notices, the due time of the first run, and
-- the last records of runs that were not skipped, the latest last, as outcome:earlier:µs/…
SELECT s.rule, s.scope, coalesce(sum(f.runs), 0)::bigint, coalesce(sum(f.row_count * f.runs), 0)::bigint, coalesce(sum(f.errored), 0)::bigint,
       coalesce(sum(f.notices), 0)::bigint, coalesce(min(f.due), 0),
       coalesce(string_agg(f.outcome || ':' || f.earlier || ':' || f.duration, '/' ORDER BY f.term, f.due) FILTER (WHERE f.outcome <> 'skipped' AND f.place <= $1), '')
FROM rule_scopes s
LEFT JOIN (SELECT *, row_number() OVER (PARTITION BY rule, scope, outcome = 'skipped' ORDER BY term DESC, due DESC) AS place FROM all_firings) f
    ON f.rule = s.rule AND f.scope = s.scope
GROUP BY s.rule, s.scope ORDER BY s.rule, s.scope;

-- name: runs
-- Arguments: $1 rule, $2 scope or null, $3 limit, $4 first due time, $5 due time behind the last.
-- Result: records of runs, the latest first; they contain at least the latest runs due in that time, up to the
-- limit, and may contain runs due outside of it.
SELECT f.rule, f.scope, f.term, f.due, f.node, f.started_at, f.duration, f.outcome, f.row_count, f.matched, f.errored, f.pending,
       f.firing, f.notices, f.unsubscribed, f.strays, f.error, f.samples, f.last_due, f.earlier
FROM all_firings f WHERE f.rule = $1 AND ($2::text IS NULL OR f.scope = $2) AND f.last_due >= $4 AND f.due < $5
ORDER BY f.term DESC, f.last_due DESC, f.scope LIMIT $3;

-- name: failed-runs
-- Arguments: $1 since, $2 limit.
-- Result: records of runs that failed and were due at $1 or later, the latest first.
SELECT f.rule, f.scope, f.term, f.due, f.node, f.started_at, f.duration, f.outcome, f.row_count, f.matched, f.errored, f.pending,
       f.firing, f.notices, f.unsubscribed, f.strays, f.error, f.samples, f.last_due, ''
FROM all_firings f WHERE f.outcome = 'failed' AND f.last_due >= $1 ORDER BY f.last_due DESC, f.rule, f.scope LIMIT $2;

-- name: promotions
-- Result: rule, scope, when, by whom.
SELECT rule, scope, promoted_at, promoted_by FROM rule_scopes WHERE promoted_at <> 0 ORDER BY rule, scope;

-- name: totals
-- Result: type, rule, status, number, latest creation.
SELECT type, rule, status, count(*), max(created_at) FROM notices
GROUP BY type, rule, status ORDER BY type COLLATE "C", rule COLLATE "C", status COLLATE "C";

-- name: long-expired
-- Pending deliveries whose notice expired long ago. If their sink no longer exists, nothing else ends them.
-- Arguments: $1 before, $2 limit, $3 now.
-- Result: the numbers of deliveries.
WITH expired AS MATERIALIZED (
    SELECT seq, notice_id FROM deliveries WHERE state = 0 AND expires_at <= (SELECT ledger_now($3)) ORDER BY seq LIMIT $2)
SELECT d.seq FROM expired d JOIN ledger_notices(ARRAY(SELECT notice_id FROM expired)) n ON n.id = d.notice_id
WHERE n.created_at < $1;

-- name: prune-notices
-- Removes one batch of notices outside the partitions of days, with their deliveries and marks.
-- Arguments: $1 before, $2 limit, $3 now.
-- Result: the numbers of removed notices and deliveries.
WITH old AS MATERIALIZED (
    SELECT n.id, n.first_seq, n.last_seq
    FROM (SELECT * FROM notices_rest UNION ALL SELECT * FROM notices_keyed) n
    WHERE n.created_at < $1 AND n.expires_at <= (SELECT ledger_now($3))
      AND NOT EXISTS (SELECT FROM findings f WHERE f.notice_id = n.id)
      AND NOT EXISTS (SELECT FROM deliveries d WHERE d.seq BETWEEN n.first_seq AND n.last_seq AND d.notice_id = n.id AND d.state = 0)
    LIMIT $2),
rest AS (DELETE FROM deliveries_rest d USING old o
         WHERE d.seq BETWEEN o.first_seq AND o.last_seq AND d.notice_id = o.id RETURNING d.seq),
keyed AS (DELETE FROM deliveries_keyed d USING old o
          WHERE d.seq BETWEEN o.first_seq AND o.last_seq AND d.notice_id = o.id RETURNING d.seq),
gone AS (SELECT seq FROM rest UNION ALL SELECT seq FROM keyed),
pushed AS (DELETE FROM pushes p USING gone g WHERE p.seq = g.seq),
marked AS (DELETE FROM marks m USING old o WHERE m.notice_id = o.id),
rest_removed AS (DELETE FROM notices_rest n USING old o WHERE n.id = o.id),
keyed_removed AS (DELETE FROM notices_keyed n USING old o WHERE n.id = o.id)
SELECT (SELECT count(*) FROM old), (SELECT count(*) FROM gone);

-- name: prune-firings
-- Removes one batch of past records of runs. The records with the last runs of each rule and scope stay.
-- Arguments: $1 how many runs stay at least, $2 limit.
-- Result: the number of rows.
DELETE FROM past_firings f USING (
    SELECT o.rule, o.scope, o.term, o.last_due
    FROM (SELECT rule, scope, term, last_due,
                 sum(runs) OVER (PARTITION BY rule, scope ORDER BY term DESC, due DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS later
          FROM all_firings) AS o
    WHERE o.later >= $1 LIMIT $2) AS old
WHERE f.rule = old.rule AND f.scope = old.scope AND f.term = old.term AND f.last_due = old.last_due;

-- name: prune-old-firings
-- Removes old records of runs that are in no partition of a day: the last records of rules and scopes that no longer
-- exist, and the records in past_firings_rest.
-- Arguments: $1 before.
-- Result: the number of removed last records; records in past_firings_rest do not count.
WITH rest AS (DELETE FROM past_firings_rest WHERE last_due < $1)
DELETE FROM firings f WHERE f.last_due < $1 AND NOT EXISTS (SELECT FROM rule_scopes s WHERE s.rule = f.rule AND s.scope = f.scope);

-- name: oldest
-- Result: the oldest version of the schema whose program may use the ledger.
SELECT version FROM schema_oldest;

-- name: version
-- Result: the version of the schema.
SELECT coalesce(max(version_id), 0) FROM ledger_schema WHERE is_applied;
