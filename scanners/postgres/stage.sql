-- The trigger function that keeps probes from writing to staged tables. A read-only transaction alone would allow
-- writes to temporary tables.
-- The function ends with the transaction.
-- No arguments. The result is not used.
CREATE FUNCTION pg_temp.tallyman_read_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE read_only_sql_transaction USING MESSAGE = pg_catalog.format('cannot execute %s on the staged table %I', TG_OP, TG_TABLE_NAME);
END
$$
