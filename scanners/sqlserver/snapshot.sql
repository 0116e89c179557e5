-- Whether the database allows SNAPSHOT isolation.
-- No arguments. One row: 1 if it does; any other number if it does not, or if that is about to change.
SELECT CAST(COALESCE(MAX(snapshot_isolation_state), 0) AS int) FROM sys.databases WHERE database_id = DB_ID()
