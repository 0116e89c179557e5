-- Sessions of nodes, and what they own; docs/adr/node-sessions.md. Times are µs.

-- name: begin-session
-- Arguments: ?1 session, ?2 node, ?3 program, ?4 rules, ?5 started, ?6 lease, ?7 now.
INSERT INTO nodes (session, node, program, rules, started, changed, lease, seen) VALUES (?1, ?2, ?3, ?4, ?5, ?7, ?6, ?7);

-- name: renew-session
-- Arguments: ?1 session, ?2 rules, ?3 lease, ?4 now.
-- Result: the number of rows, 0 = the session has ended.
UPDATE nodes SET changed = CASE WHEN rules = ?2 THEN changed ELSE ?4 END, rules = ?2, lease = ?3, seen = ?4 WHERE session = ?1;

-- name: nodes
-- Arguments: ?1 now.
-- Result: the sessions with the rest of their leases, by name and id.
SELECT session, node, program, rules, started, changed, seen, seen + lease - ?1 FROM nodes ORDER BY node, session;

-- name: over-sessions
-- Finds the sessions whose leases are over, unless the lease of the calling session is over as well.
-- Arguments: ?1 the calling session, ?2 now.
-- Result: as in nodes.
SELECT session, node, program, rules, started, changed, seen, seen + lease - ?2 FROM nodes
WHERE seen + lease <= ?2 AND session <> ?1 AND EXISTS (SELECT 1 FROM nodes s WHERE s.session = ?1 AND s.seen + s.lease > ?2)
ORDER BY node, session;

-- name: end-sessions
-- Arguments: ?1 sessions (JSON).
DELETE FROM nodes WHERE session IN (SELECT value FROM json_each(?1));

-- The statements free-… free what ended sessions own.

-- name: free-firings
-- Moves the token on, so that the old claim is void.
-- Arguments: ?1 sessions (JSON).
UPDATE rule_scopes SET token = token + 1, lease_until = 0
WHERE running_node IN (SELECT value FROM json_each(?1)) AND running_due IS NOT NULL AND lease_until > 0;

-- name: free-lanes
-- Arguments: ?1 sessions (JSON).
UPDATE lanes SET node = '', lease_until = 0 WHERE node IN (SELECT value FROM json_each(?1));

-- name: free-indexes
-- Arguments: ?1 sessions (JSON).
UPDATE inbox_states SET lease_until = 0 WHERE node IN (SELECT value FROM json_each(?1)) AND building AND lease_until > 0;

-- name: free-pushes
-- No index has the column node. A claimed delivery was due, so the statement reads the due deliveries of each lane by
-- their index. One minute more covers the difference between the clocks of nodes.
-- Arguments: ?1 sessions (JSON), ?2 now.
UPDATE pushes SET until = 0, node = ''
WHERE seq IN (SELECT p.seq FROM lanes l CROSS JOIN pushes p ON p.lane_id = l.id AND p.due <= ?2 + 60000000
              WHERE p.node IN (SELECT value FROM json_each(?1)));

-- name: held-lanes
-- Arguments: ?1 now.
-- Result: session, sink and warehouse.
SELECT node, sink, warehouse FROM lanes WHERE node <> '' AND lease_until > ?1 ORDER BY sink, warehouse;
