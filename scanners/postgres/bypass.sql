-- Finds the names of a statement that read the database's own table in spite of a staged one, directly or through
-- views.
-- $1 json array of names that may name tables, $2 oid[] the database's own tables that are hidden.
-- One row for each: the name, the table, whether the name is a view. PostgreSQL binds the tables of a view when the
-- view is created, so temporary tables do not hide them.
WITH RECURSIVE reads (name, rel, view) AS (
    SELECT n, pg_catalog.to_regclass(n)::oid, false
    FROM pg_catalog.json_array_elements_text($1::json) AS n
    UNION
    SELECT r.name, d.refobjid, true
    FROM reads r
    JOIN pg_catalog.pg_class v ON v.oid = r.rel AND v.relkind IN ('v', 'm')
    JOIN pg_catalog.pg_rewrite w ON w.ev_class = v.oid
    JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = w.oid
        AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid <> v.oid
)
SELECT pg_catalog.replace(r.name, '"', ''), c.relname, r.view
FROM reads r JOIN pg_catalog.pg_class c ON c.oid = r.rel
WHERE r.rel = ANY ($2::oid[])
ORDER BY r.view, 1
