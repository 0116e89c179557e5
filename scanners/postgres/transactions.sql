-- Open transactions of this database that have written something. No arguments. One row for each, prepared transactions
-- too: how long it has been open, in µs. The age of a prepared transaction counts from PREPARE TRANSACTION, because the
-- server does not tell when it began: the transaction is older. Then one row for each session whose transactions this
-- user may not see: NULL.
SELECT (extract(epoch FROM pg_catalog.clock_timestamp() - a.xact_start) * 1000000)::bigint
FROM pg_catalog.pg_stat_activity a
WHERE a.datname = pg_catalog.current_database() AND a.backend_xid IS NOT NULL AND a.xact_start IS NOT NULL
UNION ALL
SELECT (extract(epoch FROM pg_catalog.clock_timestamp() - p.prepared) * 1000000)::bigint
FROM pg_catalog.pg_prepared_xacts p WHERE p.database = pg_catalog.current_database()
UNION ALL
SELECT NULL FROM pg_catalog.pg_stat_activity a
WHERE a.datname = pg_catalog.current_database() AND a.query = '<insufficient privilege>'
