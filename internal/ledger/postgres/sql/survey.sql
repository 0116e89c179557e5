-- What `tallyman ledger verify` counts: the work that a ledger has left. Times are µs, 0 = never.

-- name: survey
-- Arguments: $1 now, null = the time of the server.
-- Result: when a node last grew its branch, when the latest notice was made, firings that are claimed, firings whose
-- lease is over, rules and scopes with a watermark.
SELECT (SELECT coalesce(max(at), 0) FROM branches), (SELECT coalesce(max(created_at), 0) FROM notices),
       (SELECT count(*) FROM rule_scopes WHERE running_due IS NOT NULL AND lease_until > ledger_now($1)),
       (SELECT count(*) FROM rule_scopes WHERE running_due IS NOT NULL AND lease_until <= ledger_now($1)),
       (SELECT count(*) FROM rule_scopes WHERE watermark <> '');

-- name: survey-items
-- Result: queue, letter of the state, and number of the items that have not ended.
SELECT q.name, o.state, count(*) FROM open_items o JOIN queues q ON q.id = o.queue_id GROUP BY q.name, o.state ORDER BY q.name, o.state;
