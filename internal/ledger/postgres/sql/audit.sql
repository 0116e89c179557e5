-- Who changed what.

-- name: lock-audit
-- One change that has a record is made at a time, on all nodes: so records have the order of their changes.
SELECT pg_advisory_xact_lock('audit'::regclass::oid::integer, 0);

-- name: add-change
-- Arguments: $1 now, $2 who, $3 by which way, $4 action, $5 object, $6 before, $7 after, $8 reason.
INSERT INTO audit (at, actor, via, action, object, before, after, reason)
VALUES ((SELECT ledger_now($1)), $2, $3, $4, $5, $6, $7, $8);

-- name: changes
-- reversed: changes-oldest
-- Arguments: $1 object or what it begins with, $2 who, $3 action or what it begins with, $4 at or after, $5 numbers below ('' or 0 = any
-- of each), $6 limit, $7 bytes, $8 numbers above. Result: the columns of rows.Change, the latest first, one more than the limit; it is over, and has no states,
-- where those of the records before it come to more than the bytes.
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
-- Result: place and version of the latest one, if there is any.
SELECT place, version FROM rule_versions ORDER BY place DESC LIMIT 1;

-- name: has-rules
-- Arguments: $1 version, $2 place. Result: whether the version is among those after that place.
SELECT EXISTS (SELECT FROM rule_versions WHERE place > $2 AND version = $1);

-- name: take-rules
-- Arguments: $1 place, $2 version.
INSERT INTO rule_versions (place, version) VALUES ($1, $2);

-- name: count-rules
-- Arguments: $1 how many there are.
UPDATE ledger_numbers SET value = $1 WHERE name = 'rules';
