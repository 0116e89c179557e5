-- Types and subscriptions.

-- name: types
-- Result: every type, by code.
SELECT code, numeric_id, name, names, category, retention, fields, defaults FROM types ORDER BY code;

-- name: type
-- Arguments: ?1 code.
-- Result: the type, if there is one.
SELECT code, numeric_id, name, names, category, retention, fields, defaults FROM types WHERE code = ?1;

-- name: numbers
-- Result: name and value of each, and schema_oldest.
SELECT name, value FROM ledger_numbers UNION ALL SELECT 'schema_oldest', version FROM schema_oldest;

-- name: number
-- Arguments: ?1 name.
-- Result: the value.
SELECT value FROM ledger_numbers WHERE name = ?1;

-- name: count-change
-- Raises a number for a change, in the change's transaction.
-- Arguments: ?1 name.
UPDATE ledger_numbers SET value = value + 1 WHERE name = ?1;

-- name: put-type
-- Arguments: ?1 … ?8 in the order of the columns. A unique violation means that another type has the numeric id.
INSERT INTO types (code, numeric_id, name, names, category, retention, fields, defaults) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (code) DO UPDATE
SET numeric_id = excluded.numeric_id, name = excluded.name, names = excluded.names, category = excluded.category,
    retention = excluded.retention, fields = excluded.fields, defaults = excluded.defaults;

-- name: seed-type
-- Arguments as for put-type.
-- Result: the number of rows, 0 = the code exists. A unique violation as for put-type.
INSERT INTO types (code, numeric_id, name, names, category, retention, fields, defaults) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (code) DO NOTHING;

-- name: delete-type
-- Arguments: ?1 code.
-- Result: the number of rows.
DELETE FROM types WHERE code = ?1;

-- name: subscriptions
-- Arguments: ?1 type, ?2 warehouse, ?3 subscriber ('' = any); ?4 ?5 ?6 where to start after ('' = at the start); ?7
-- limit, 0 = none.
SELECT type, warehouse, subscriber, origin FROM subscriptions
WHERE (?1 = '' OR type = ?1) AND (?2 = '' OR warehouse = ?2) AND (?3 = '' OR subscriber = ?3)
  AND (type, warehouse, subscriber) > (?4, ?5, ?6)
ORDER BY type, warehouse, subscriber LIMIT iif(?7 = 0, -1, ?7);

-- name: unknown-type
-- Arguments: ?1 as for add-subscriptions.
-- Result: a type in the list that the catalogue does not have; no row if the catalogue has all of them.
SELECT value ->> 0 FROM json_each(?1) WHERE value ->> 0 NOT IN (SELECT code FROM types) LIMIT 1;

-- name: add-subscriptions
-- Arguments: ?1 [[type, warehouse, subscriber], …], ?2 origin.
-- Result: the new rows.
INSERT INTO subscriptions (type, warehouse, subscriber, origin)
SELECT value ->> 0, value ->> 1, value ->> 2, ?2 FROM json_each(?1) WHERE true ON CONFLICT DO NOTHING
RETURNING type, warehouse, subscriber, origin;

-- name: mark-subscribed
-- Records that the ledger has had a subscription.
-- Result: the number of rows, 0 = this was recorded before.
UPDATE ledger_numbers SET value = 1 WHERE name = 'subscribed' AND value = 0;

-- name: origin-of
-- Arguments: ?1 type, ?2 warehouse, ?3 subscriber.
-- Result: its origin.
SELECT origin FROM subscriptions WHERE type = ?1 AND warehouse = ?2 AND subscriber = ?3;

-- name: remove-subscription
-- Leaves a subscription with an origin alone.
-- Arguments: ?1 type, ?2 warehouse, ?3 subscriber.
-- Result: the number of rows.
DELETE FROM subscriptions WHERE type = ?1 AND warehouse = ?2 AND subscriber = ?3 AND origin = '';

-- name: claim-origin
-- Claims the right to query a source.
-- Arguments: ?1 kind, ?2 name, ?3 interval, ?4 now, ?5 how long a claim without an answer keeps out others, ?6
-- question, ?7 1 = a question that differs from the last one is claimed at once.
-- Result: the token; no row where the last claim still keeps out others.
INSERT INTO origins (kind, name, token, asked, question) VALUES (?1, ?2, 1, ?4, ?6)
ON CONFLICT (kind, name) DO UPDATE SET token = origins.token + 1, asked = excluded.asked, settled = 0, question = excluded.question
WHERE origins.asked + CASE WHEN origins.settled = 1 THEN ?3 ELSE max(?3, ?5) END <= excluded.asked OR origins.asked > excluded.asked
   OR ?7 = 1 AND origins.settled = 1 AND origins.question <> excluded.question
RETURNING token;

-- name: origin
-- Arguments: ?1 kind, ?2 name.
-- Result: the row.
SELECT kind, name, token, asked, answered, failed, error, waits, waits_since, list, listed FROM origins WHERE kind = ?1 AND name = ?2;

-- name: subscription-origins
-- Result: the rows, each with its number of subscriptions.
SELECT kind, name, token, asked, answered, failed, error, waits, waits_since, list, (SELECT count(*) FROM subscriptions s WHERE s.origin = o.name)
FROM origins o WHERE kind = 'subscriptions' ORDER BY name;

-- name: scope-origins
-- Result: the rows, by rule. A list in force may be long. Where no other list waits, '[]' stands for the list in force.
SELECT kind, name, token, asked, answered, failed, error, waits, waits_since, CASE WHEN waits = '' AND list <> '' THEN '[]' ELSE list END, listed
FROM origins WHERE kind = 'scopes' ORDER BY name;

-- name: scope-lists
-- Result: rule, and list in force, of each rule that has one.
SELECT name, list FROM origins WHERE kind = 'scopes' AND list <> '';

-- name: set-origin
-- Arguments: ?1 kind, ?2 name, ?3 answered, ?4 failed, ?5 error, ?6 waits, ?7 waits_since, ?8 list, ?9 listed.
UPDATE origins SET answered = ?3, failed = ?4, error = ?5, waits = ?6, waits_since = ?7, list = ?8, listed = ?9, settled = 1 WHERE kind = ?1 AND name = ?2;

-- name: delete-origin
-- Arguments: ?1 kind, ?2 name.
-- Result: the number of rows.
DELETE FROM origins WHERE kind = ?1 AND name = ?2;

-- name: subscriptions-of
-- Arguments: ?1 origin.
-- Result: its subscriptions, in the order of type, warehouse, subscriber.
SELECT type, warehouse, subscriber, origin FROM subscriptions WHERE origin = ?1 ORDER BY type, warehouse, subscriber;

-- name: remove-subscriptions
-- Arguments: ?1 origin, ?2 [[type, warehouse, subscriber], …].
DELETE FROM subscriptions WHERE origin = ?1 AND (type, warehouse, subscriber) IN (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?2));

-- name: release-subscriptions
-- Arguments: ?1 origin.
-- Result: the number of rows.
UPDATE subscriptions SET origin = '' WHERE origin = ?1;
