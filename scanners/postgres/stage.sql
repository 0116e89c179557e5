-- The function of the triggers that keep probes from writing to staged tables: a read-only transaction alone lets its
-- temporary tables be written to. It goes with the transaction.
-- No arguments, no result of interest.
CREATE FUNCTION pg_temp.tallyman_read_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE read_only_sql_transaction USING MESSAGE = pg_catalog.format('cannot execute %s on the staged table %I', TG_OP, TG_TABLE_NAME);
END
$$
