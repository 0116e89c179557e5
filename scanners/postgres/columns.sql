-- The catalogue's facts about the columns of a prepared statement.
-- $1 oid[] types, $2 int4[] type modifiers, $3 oid[] tables (0 = an expression), $4 int2[] column numbers.
-- One row for each column, in order: the name of the type, whether the column is surely NOT NULL. From PostgreSQL 18 on
-- a NOT NULL constraint may exist that was not validated.
SELECT pg_catalog.format_type(f.type, f.modifier),
       COALESCE(a.attnotnull, false) AND NOT EXISTS (
           SELECT FROM pg_catalog.pg_constraint c
           WHERE c.conrelid = a.attrelid AND c.contype = 'n' AND c.conkey = ARRAY[a.attnum] AND NOT c.convalidated)
FROM ROWS FROM (pg_catalog.unnest($1::oid[]), pg_catalog.unnest($2::int4[]), pg_catalog.unnest($3::oid[]), pg_catalog.unnest($4::int2[]))
     WITH ORDINALITY AS f (type, modifier, tab, num, ord)
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = f.tab AND a.attnum = f.num AND f.num > 0
ORDER BY f.ord
