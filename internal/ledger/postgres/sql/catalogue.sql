-- Types and subscriptions.

-- name: types
-- Result: every type, by code.
SELECT code, numeric_id, name, names, category, retention, fields FROM types ORDER BY code;

-- name: type
-- Arguments: $1 code. Result: the type, if there is one.
SELECT code, numeric_id, name, names, category, retention, fields FROM types WHERE code = $1;

-- name: numbers
-- Result: name and value of each.
SELECT name, value FROM ledger_numbers;

-- name: number
-- Arguments: $1 name. Result: the value.
SELECT value FROM ledger_numbers WHERE name = $1;

-- name: count-change
-- Lets a number grow with a change, which the row's lock puts in order. Arguments: $1 name.
UPDATE ledger_numbers SET value = value + 1 WHERE name = $1;

-- name: put-type
-- Arguments: $1 … $7 in the order of the columns. A unique violation: another type has the numeric id.
INSERT INTO types (code, numeric_id, name, names, category, retention, fields) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (code) DO UPDATE
SET numeric_id = excluded.numeric_id, name = excluded.name, names = excluded.names, category = excluded.category,
    retention = excluded.retention, fields = excluded.fields;

-- name: seed-type
-- Arguments as for put-type. Result: the number of rows, 0 = the code is there. A unique violation as for put-type.
INSERT INTO types (code, numeric_id, name, names, category, retention, fields) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (code) DO NOTHING;

-- name: delete-type
-- Arguments: $1 code. Result: the number of rows.
DELETE FROM types WHERE code = $1;

-- name: subscriptions
-- Arguments: $1 type, $2 warehouse, $3 subscriber ('' = any); $4 $5 $6 where to start after ('' = at the start); $7 limit, 0 = none.
SELECT type, warehouse, subscriber FROM subscriptions
WHERE ($1 = '' OR type = $1) AND ($2 = '' OR warehouse = $2) AND ($3 = '' OR subscriber = $3)
  AND (type, warehouse, subscriber) > ($4, $5, $6)
ORDER BY type, warehouse, subscriber LIMIT nullif($7::bigint, 0);

-- name: unknown-type
-- Arguments: $1 as for add-subscriptions. Result: a type among them that is not in the catalogue; none if all are.
SELECT n ->> 0 FROM json_array_elements($1::json) AS n WHERE NOT EXISTS (SELECT FROM types WHERE code = (n ->> 0) COLLATE "C") LIMIT 1;

-- name: add-subscriptions
-- Arguments: $1 [[type, warehouse, subscriber], …]. Result: the new rows, in the order of type, warehouse, subscriber.
WITH added AS (
    INSERT INTO subscriptions (type, warehouse, subscriber)
    SELECT n ->> 0, n ->> 1, n ->> 2 FROM json_array_elements($1::json) AS n
    ORDER BY 1, 2, 3 ON CONFLICT DO NOTHING
    RETURNING type, warehouse, subscriber)
SELECT type, warehouse, subscriber FROM added ORDER BY 1, 2, 3;

-- name: mark-subscribed
-- Remembers that there was a subscription. Result: the number of rows, 0 = it is remembered already.
UPDATE ledger_numbers SET value = 1 WHERE name = 'subscribed' AND value = 0;

-- name: remove-subscription
-- Arguments: $1 type, $2 warehouse, $3 subscriber. Result: the number of rows.
DELETE FROM subscriptions WHERE type = $1 AND warehouse = $2 AND subscriber = $3;
