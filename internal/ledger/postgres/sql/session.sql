-- What connections ask the server itself. The argument "now" is null for the server's clock.

-- name: set-session
-- Sets parameters for the life of the connection. They are not in the startup message, because poolers before the
-- server may refuse them there.
-- Arguments: $1 names, $2 values, all of the same length.
-- Result: the values.
SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS s (name, value);

-- name: identity
-- Identifies the database of a connection. A restored database, or a standby that took over, has another server process
-- or another oid.
-- Result: a text.
SELECT pg_postmaster_start_time()::text || ' ' || (SELECT oid FROM pg_database WHERE datname = current_database())::text;

-- name: lock-session
-- Arguments: $1 key.
-- Result: whether the session has the lock.
SELECT pg_try_advisory_lock($1::bigint);

-- name: unlock-session
-- Arguments: $1 key.
-- Result: whether the session had the lock.
SELECT pg_advisory_unlock($1::bigint);

-- name: lock-transaction
-- Arguments: $1 key.
-- Result: whether the transaction has the lock.
SELECT pg_try_advisory_xact_lock($1::bigint);

-- name: now
-- Arguments: $1 now.
-- Result: the time.
SELECT ledger_now($1);
