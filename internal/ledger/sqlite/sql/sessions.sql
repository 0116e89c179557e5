-- Sessions of nodes, and what they hold; docs/adr/node-sessions.md. Times are µs.

-- name: begin-session
-- Arguments: ?1 session, ?2 node, ?3 program, ?4 rules, ?5 started, ?6 lease, ?7 now.
INSERT INTO nodes (session, node, program, rules, started, changed, lease, seen) VALUES (?1, ?2, ?3, ?4, ?5, ?7, ?6, ?7);

-- name: renew-session
-- Arguments: ?1 session, ?2 rules, ?3 lease, ?4 now. Result: the number of rows, 0 = the session has ended.
UPDATE nodes SET changed = CASE WHEN rules = ?2 THEN changed ELSE ?4 END, rules = ?2, lease = ?3, seen = ?4 WHERE session = ?1;

-- name: nodes
-- Arguments: ?1 now. Result: the sessions with what is left of their leases, by name and id.
SELECT session, node, program, rules, started, changed, seen, seen + lease - ?1 FROM nodes ORDER BY node, session;

-- name: over-sessions
-- Finds those whose leases are over, unless that of the asking one is, too. Arguments: ?1 the session that asks, ?2 now. Result: as that of nodes.
SELECT session, node, program, rules, started, changed, seen, seen + lease - ?2 FROM nodes
WHERE seen + lease <= ?2 AND session <> ?1 AND EXISTS (SELECT 1 FROM nodes s WHERE s.session = ?1 AND s.seen + s.lease > ?2)
ORDER BY node, session;

-- name: end-sessions
-- Arguments: ?1 sessions (JSON).
DELETE FROM nodes WHERE session IN (SELECT value FROM json_each(?1));

-- The statements free-… free what sessions hold that have ended.

-- name: free-firings
-- The token moves on, so that the old claim is worth nothing. Arguments: ?1 sessions (JSON).
UPDATE rule_scopes SET token = token + 1, lease_until = 0
WHERE running_node IN (SELECT value FROM json_each(?1)) AND running_due IS NOT NULL AND lease_until > 0;

-- name: free-lanes
-- Arguments: ?1 sessions (JSON).
UPDATE lanes SET node = '', lease_until = 0 WHERE node IN (SELECT value FROM json_each(?1));

-- name: free-indexes
-- Arguments: ?1 sessions (JSON).
UPDATE inbox_states SET lease_until = 0 WHERE node IN (SELECT value FROM json_each(?1)) AND building AND lease_until > 0;

-- name: free-pushes
-- What is claimed was due, and no index has the node: of each lane what is due is read, by the index of what is due. The minute is more than the times of nodes
-- differ by. Arguments: ?1 sessions (JSON), ?2 now.
UPDATE pushes SET until = 0, node = ''
WHERE seq IN (SELECT p.seq FROM lanes l CROSS JOIN pushes p ON p.lane_id = l.id AND p.due <= ?2 + 60000000
              WHERE p.node IN (SELECT value FROM json_each(?1)));

-- name: held-lanes
-- Arguments: ?1 now. Result: session, sink and warehouse.
SELECT node, sink, warehouse FROM lanes WHERE node <> '' AND lease_until > ?1 ORDER BY sink, warehouse;
