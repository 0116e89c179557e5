-- Describes the functions of a query tree, and the functions that its operators, types and aggregates call.
-- $1 oid[] functions, $2 oid[] operators, $3 oid[] types, as the tree names them. The query itself finds the parts of
-- these types.
-- One row for each function: its OID, its name as in the configuration (without a schema in pg_catalog), its bare name,
-- whether it belongs to PostgreSQL itself, provolatile, its language, whether it runs with its owner's rights, the
-- search_path that it sets (empty if it sets none). If the name is NULL, the function was dropped meanwhile. Then one
-- row for each constraint of a domain: 0, its expression as a tree, the rest NULL.
WITH RECURSIVE types (oid) AS (
    SELECT t FROM pg_catalog.unnest($3::oid[]) AS t
    UNION
    SELECT part.oid
    FROM types
    JOIN pg_catalog.pg_type y ON y.oid = types.oid
    CROSS JOIN LATERAL (
        SELECT y.typelem
        UNION ALL SELECT y.typbasetype
        UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attrelid = y.typrelid AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r
                  WHERE y.oid = r.rngtypid OR y.oid = (pg_catalog.to_jsonb(r) ->> 'rngmultitypid')::oid
    ) AS part (oid)
    WHERE part.oid <> 0
), called (oid) AS (
    SELECT f FROM pg_catalog.unnest($1::oid[]) AS f
    UNION
    SELECT o.oprcode::oid FROM pg_catalog.pg_operator o WHERE o.oid = ANY ($2::oid[])
    UNION
    SELECT f FROM types JOIN pg_catalog.pg_type y ON y.oid = types.oid
    CROSS JOIN pg_catalog.unnest(ARRAY[y.typinput, y.typoutput, y.typreceive, y.typsend, y.typmodin, y.typmodout]::oid[]) AS f
    UNION
    SELECT f FROM types JOIN pg_catalog.pg_range r ON r.rngtypid = types.oid
    CROSS JOIN pg_catalog.unnest(ARRAY[r.rngcanonical, r.rngsubdiff]::oid[]) AS f
), functions (oid) AS (
    SELECT oid FROM called
    UNION
    SELECT f FROM called JOIN pg_catalog.pg_aggregate a ON a.aggfnoid = called.oid
    CROSS JOIN pg_catalog.unnest(ARRAY[a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn, a.aggminvtransfn,
        a.aggmfinalfn]::oid[]) AS f
    UNION
    SELECT o.oprcode::oid FROM called JOIN pg_catalog.pg_aggregate a ON a.aggfnoid = called.oid JOIN pg_catalog.pg_operator o ON o.oid = a.aggsortop
)
SELECT f.oid::text,
       CASE WHEN n.nspname = 'pg_catalog' THEN '' ELSE pg_catalog.quote_ident(n.nspname) || '.' END || pg_catalog.quote_ident(p.proname),
       p.proname, n.nspname IN ('pg_catalog', 'information_schema'), p.provolatile, l.lanname, p.prosecdef,
       (SELECT pg_catalog.substr(c, 13) FROM pg_catalog.unnest(p.proconfig) AS c WHERE c LIKE 'search\_path=%')
FROM functions f
LEFT JOIN pg_catalog.pg_proc p ON p.oid = f.oid
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
LEFT JOIN pg_catalog.pg_language l ON l.oid = p.prolang
WHERE f.oid <> 0
UNION ALL
SELECT '0', c.conbin::text, NULL, NULL, NULL, NULL, NULL, NULL
FROM types JOIN pg_catalog.pg_constraint c ON c.contypid = types.oid
WHERE c.conbin IS NOT NULL
