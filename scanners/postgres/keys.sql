-- The unique indexes of a table that cover every row and consist of columns only.
-- $1 oid of the table. One row for each column of an index, the primary key first, in order: the index's OID, whether
-- it is the primary key, the column's name as in a statement.
SELECT i.indexrelid, i.indisprimary, pg_catalog.quote_ident(a.attname)
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
CROSS JOIN LATERAL pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY AS k (num, ord)
JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.num
WHERE i.indrelid = $1::oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND k.ord <= i.indnkeyatts
ORDER BY i.indisprimary DESC, c.relname, k.ord
