-- A text that changes when a view, a policy, a function or a domain's constraint of the statement is replaced.
-- $1 oid[] functions, $2 oid[] tables and views, $3 oid[] types. One row: the text.
SELECT COALESCE(pg_catalog.md5(pg_catalog.string_agg(part, ' ' ORDER BY part)), '')
FROM (
    SELECT pg_catalog.concat_ws(' ', 'p', p.oid, p.xmin) FROM pg_catalog.pg_proc p WHERE p.oid = ANY ($1::oid[])
    UNION ALL
    SELECT pg_catalog.concat_ws(' ', 'c', c.oid, c.relkind, c.relrowsecurity, c.relforcerowsecurity) FROM pg_catalog.pg_class c WHERE c.oid = ANY ($2::oid[])
    UNION ALL
    SELECT pg_catalog.concat_ws(' ', 'w', w.oid, w.xmin) FROM pg_catalog.pg_rewrite w WHERE w.ev_class = ANY ($2::oid[])
    UNION ALL
    SELECT pg_catalog.concat_ws(' ', 'y', y.oid, y.xmin) FROM pg_catalog.pg_policy y WHERE y.polrelid = ANY ($2::oid[])
    UNION ALL
    SELECT pg_catalog.concat_ws(' ', 't', t.oid, t.xmin) FROM pg_catalog.pg_constraint t WHERE t.contypid = ANY ($3::oid[])
) AS parts (part)
