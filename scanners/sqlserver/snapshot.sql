-- Whether the database allows SNAPSHOT isolation.
-- No arguments. One row: 1 if the database allows it; any other number if not, or while the setting changes.
SELECT CAST(COALESCE(MAX(snapshot_isolation_state), 0) AS int) FROM sys.databases WHERE database_id = DB_ID()
