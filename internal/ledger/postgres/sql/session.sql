-- What connections ask of the server itself. "now" is null for its clock.

-- name: set-session
-- Sets parameters for as long as the connection lives. They are not in the startup message, which poolers between us and
-- the server may refuse. Arguments: $1 names, $2 values, alike in length. Result: the values.
SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS s (name, value);

-- name: now
-- Arguments: $1 now. Result: the time.
SELECT ledger_now($1);
