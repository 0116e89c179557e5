-- Sessions of nodes, and what they own; docs/adr/node-sessions.md. Times are µs; the argument "now" is null for the
-- server's clock.

-- name: begin-session
-- Arguments: $1 session, $2 node, $3 program, $4 rules, $5 started, $6 lease, $7 now.
INSERT INTO nodes (session, node, program, rules, started, changed, lease, seen) VALUES ($1, $2, $3, $4, $5, ledger_now($7), $6, ledger_now($7));

-- name: renew-session
-- Arguments: $1 session, $2 rules, $3 lease, $4 now.
-- Result: the number of rows, 0 = the session has ended.
UPDATE nodes SET changed = CASE WHEN rules = $2 THEN changed ELSE ledger_now($4) END, rules = $2, lease = $3, seen = ledger_now($4) WHERE session = $1;

-- name: nodes
-- Arguments: $1 now.
-- Result: the sessions with the rest of their leases, by name and id.
SELECT session, node, program, rules, started, changed, seen, seen + lease - (SELECT ledger_now($1)) FROM nodes ORDER BY node COLLATE "C", session;

-- name: live-nodes
-- Every version of the schema has what this statement reads, because tallyman migrate asks before it migrates.
-- Result: name and program of the nodes whose leases are in force, by name.
SELECT node, program FROM nodes WHERE seen + lease > (SELECT ledger_now(NULL)) ORDER BY node COLLATE "C", session;

-- name: over-sessions
-- Locks the sessions whose leases are over, unless the lease of the calling session is over as well.
-- Arguments: $1 the calling session, $2 now.
-- Result: as in nodes.
SELECT session, node, program, rules, started, changed, seen, seen + lease - (SELECT ledger_now($2)) FROM nodes
WHERE seen + lease <= (SELECT ledger_now($2)) AND session <> $1
  AND EXISTS (SELECT FROM nodes s WHERE s.session = $1 AND s.seen + s.lease > (SELECT ledger_now($2)))
ORDER BY node COLLATE "C", session FOR UPDATE SKIP LOCKED;

-- name: end-sessions
-- Arguments: $1 sessions.
DELETE FROM nodes WHERE session = ANY($1::text[]);

-- The statements free-… free what ended sessions own. These statements wait for no lock. Otherwise a node that froze in
-- the middle of a transaction would block everything that it owned. Each statement compares a row again when it changes
-- the row, because another session may have taken the row meanwhile.

-- name: free-firings
-- Moves the token on, so that the old claim is void.
-- Arguments: $1 sessions.
UPDATE rule_scopes s SET token = s.token + 1, lease_until = 0
FROM (SELECT id FROM rule_scopes WHERE running_node = ANY($1::text[]) AND running_due IS NOT NULL AND lease_until > 0 ORDER BY id FOR UPDATE SKIP LOCKED) AS held
WHERE s.id = held.id AND s.running_node = ANY($1::text[]);

-- name: free-lanes
-- Arguments: $1 sessions.
UPDATE lanes l SET node = '', lease_until = 0
FROM (SELECT id FROM lanes WHERE node = ANY($1::text[]) ORDER BY id FOR UPDATE SKIP LOCKED) AS held
WHERE l.id = held.id AND l.node = ANY($1::text[]);

-- name: free-indexes
-- Arguments: $1 sessions.
UPDATE inbox_states i SET lease_until = 0
FROM (SELECT sink FROM inbox_states WHERE node = ANY($1::text[]) AND building AND lease_until > 0 ORDER BY sink FOR UPDATE SKIP LOCKED) AS held
WHERE i.sink = held.sink AND i.node = ANY($1::text[]);

-- name: free-pushes
-- No index has the column node. A claimed delivery was due, so the statement reads the due deliveries of each lane by
-- their index. One minute more covers the difference between the clocks of nodes.
-- Arguments: $1 sessions, $2 now.
UPDATE pushes p SET until = 0, node = ''
FROM (SELECT o.seq FROM lanes l JOIN pushes o ON o.lane_id = l.id AND o.due <= (SELECT ledger_now($2)) + 60000000
      WHERE o.node = ANY($1::text[]) ORDER BY o.seq FOR UPDATE OF o SKIP LOCKED) AS held
WHERE p.seq = held.seq AND p.node = ANY($1::text[]);

-- name: held-lanes
-- Arguments: $1 now.
-- Result: session, sink and warehouse.
SELECT node, sink, warehouse FROM lanes WHERE node <> '' AND lease_until > (SELECT ledger_now($1)) ORDER BY sink, warehouse;
