-- The columns of a table that will be staged, if the database has the table.
-- $1 its name as in a statement. One row for each column, in order: the table's OID, the column's name, and three
-- booleans. First: the column is generated, or NOT NULL without a default. Second: the database numbers the column
-- (identity, or a default from a sequence, which a test must not move). Third: the column is generated.
SELECT c.oid, a.attname, a.attnotnull AND d.adbin IS NULL OR a.attgenerated <> '',
       a.attidentity <> '' OR a.attgenerated = '' AND COALESCE(pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE '%nextval(%', false),
       a.attgenerated <> ''
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE c.oid = pg_catalog.to_regclass($1)
ORDER BY a.attnum
