-- Who changed what.

-- name: lock-audit
-- Lets only one change with an audit record run at a time, on all nodes. So records have the order of their changes.
SELECT pg_advisory_xact_lock('audit'::regclass::oid::integer, 0);

-- name: add-change
-- Arguments: $1 now, $2 who, $3 by which way, $4 action, $5 object, $6 before, $7 after, $8 reason.
INSERT INTO audit (at, actor, via, action, object, before, after, reason)
VALUES ((SELECT ledger_now($1)), $2, $3, $4, $5, $6, $7, $8);

-- name: changes
-- reversed: changes-oldest
-- Arguments: $1 an object or its beginning, $2 who, $3 an action or its beginning, $4 earliest time, $5 numbers below
-- this one ('' or 0 = any of each), $6 limit, $7 bytes, $8 numbers above this one.
-- Result: the columns of codec.Change, the latest first, one record more than the limit. The last column is true, and
-- the states are empty, where the states of the records before exceed $7.
SELECT seq, at, actor, via, action, object, CASE WHEN ahead > $7 THEN '' ELSE coalesce(before, '') END,
       CASE WHEN ahead > $7 THEN '' ELSE coalesce(after, '') END, reason, ahead > $7
FROM (SELECT page.*, sum(size) OVER (ORDER BY seq DESC) - size AS ahead
      FROM (SELECT audit.*, coalesce(octet_length(before), 0) + coalesce(octet_length(after), 0) AS size
            FROM audit
            WHERE ($1 = '' OR object = $1 OR starts_with(object, $1 || ':'))
              AND ($2 = '' OR actor = $2)
              AND ($3 = '' OR action = $3 OR starts_with(action, $3 || '.'))
              AND at >= $4 AND ($5 = 0 OR seq < $5) AND seq > $8
            ORDER BY seq DESC LIMIT $6::bigint + 1) page) sized
ORDER BY seq DESC;

-- name: last-rules
-- Result: place and version of the latest version, if there is one.
SELECT place, version FROM rule_versions ORDER BY place DESC LIMIT 1;

-- name: has-rules
-- Arguments: $1 version, $2 place.
-- Result: whether the version has a place behind that one.
SELECT EXISTS (SELECT FROM rule_versions WHERE place > $2 AND version = $1);

-- name: take-rules
-- Arguments: $1 place, $2 version.
INSERT INTO rule_versions (place, version) VALUES ($1, $2);

-- name: count-rules
-- Arguments: $1 the number of versions.
UPDATE ledger_numbers SET value = $1 WHERE name = 'rules';
