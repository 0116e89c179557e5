-- The columns of a table.
-- $1 the table's name as in a statement. One row for each column, in order: the table's OID, its name as in tables.sql,
-- the column's name as in a statement. No rows if there is no such table.
SELECT c.oid,
       CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN '' ELSE pg_catalog.quote_ident(n.nspname) || '.' END || pg_catalog.quote_ident(c.relname),
       pg_catalog.quote_ident(a.attname)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.oid = pg_catalog.to_regclass($1) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
ORDER BY a.attnum
