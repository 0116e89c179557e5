-- The state of the ledger's clock; docs/adr/clock-terms.md. Times are µs.

-- name: clock
-- Arguments: ?1 now.
-- Result: term, when it began, how far the clock went back then, what is withheld, since when, the latest time that
-- nodes have seen, and the time that the clock shows.
SELECT term, began_at, back, withheld, withheld_at, seen, ?1 FROM clock;

-- name: see-time
-- Arguments: ?1 term, ?2 withheld, ?3 time.
UPDATE clock SET seen = ?3 WHERE term = ?1 AND withheld = ?2 AND seen < ?3;

-- name: begin-term
-- Arguments: ?1 the previous term, ?2 what was withheld in that term, ?3 how far the clock went back, ?4 now.
-- Result: when the term began; no row if another node was first.
UPDATE clock SET term = term + 1, began_at = ?4, back = ?3, withheld = 0, withheld_at = 0, seen = ?4
WHERE term = ?1 AND withheld = ?2
RETURNING began_at;

-- name: withhold
-- Arguments: ?1 term, ?2 what was withheld, ?3 what is withheld now, ?4 since when.
-- Result: the number of rows, 0 = another node was first.
UPDATE clock SET withheld = ?3, withheld_at = ?4 WHERE term = ?1 AND withheld = ?2;

-- The statements turn-… let the leases of the previous term keep the rest of their time. ?1 now, ?2 how far the clock
-- went back, ?3 the longest lease. A lease that ends after both ?1 + ?2 and ?1 + ?3 comes from the previous term, and
-- was in force. A lease that ends after ?1 + ?3, but not after ?1 + ?2, was over already.

-- name: turn-claims
UPDATE rule_scopes SET lease_until = CASE WHEN lease_until > ?1 + max(?2, ?3) THEN lease_until - ?2 ELSE 0 END
WHERE lease_until > ?1 + ?3;

-- name: turn-lanes
UPDATE lanes SET lease_until = CASE WHEN lease_until > ?1 + max(?2, ?3) THEN lease_until - ?2 ELSE 0 END
WHERE lease_until > ?1 + ?3;

-- name: turn-indexes
UPDATE inbox_states SET lease_until = CASE WHEN lease_until > ?1 + max(?2, ?3) THEN lease_until - ?2 ELSE 0 END
WHERE lease_until > ?1 + ?3;

-- name: turn-pushes
-- A waiting delivery keeps the rest of its waiting time. Exceptions are deliveries with a fixed time (`at`) and
-- deliveries that a silence holds back.
UPDATE pushes
SET until = CASE WHEN until > ?1 + max(?2, ?3) THEN until - ?2 WHEN until > ?1 + ?3 THEN 0 ELSE until END,
    first_due = CASE WHEN at = 0 AND first_due > ?1 THEN first_due - ?2 ELSE first_due END,
    due = CASE WHEN due > ?1 AND due < 9223372036854775807 AND held = '' AND (at = 0 OR due <> first_due) THEN due - ?2 ELSE due END
WHERE due IS NOT NULL AND (due > ?1 OR first_due > ?1 OR until > ?1 + ?3);

-- name: turn-nodes
-- Arguments: ?1 now, ?2 how far the clock went back.
UPDATE nodes SET seen = seen - ?2, changed = min(changed, ?1) WHERE seen > ?1;
