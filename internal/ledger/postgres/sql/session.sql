-- What connections ask of the server itself. "now" is null for its clock.

-- name: set-session
-- Sets parameters for as long as the connection lives. They are not in the startup message, which poolers between us and
-- the server may refuse. Arguments: $1 names, $2 values, alike in length. Result: the values.
SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS s (name, value);

-- name: identity
-- What tells the database of a connection from one that was restored, or from a standby that took over: each has another server process or another
-- number. Result: a text.
SELECT pg_postmaster_start_time()::text || ' ' || (SELECT oid FROM pg_database WHERE datname = current_database())::text;

-- name: lock-session
-- Arguments: $1 key. Result: whether the session has the lock.
SELECT pg_try_advisory_lock($1::bigint);

-- name: unlock-session
-- Arguments: $1 key. Result: whether the session had the lock.
SELECT pg_advisory_unlock($1::bigint);

-- name: lock-transaction
-- Arguments: $1 key. Result: whether the transaction has the lock.
SELECT pg_try_advisory_xact_lock($1::bigint);

-- name: now
-- Arguments: $1 now. Result: the time.
SELECT ledger_now($1);
