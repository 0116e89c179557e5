-- What `tallyman doctor` asks about the server of a ledger and about the role of the URL.

-- name: inspect-server
-- Result: the version, the server's time in µs, whether the role may create tables, whether the role is a superuser.
SELECT current_setting('server_version'), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       coalesce(has_schema_privilege(current_schema(), 'CREATE'), false), (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);

-- name: missing-rights
-- What the role of a node needs and does not have, for tables, sequences and the function of partitions.
-- Result: a right and what it is about.
SELECT r.name || ' on ' || c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = current_schema()
CROSS JOIN LATERAL (SELECT unnest(CASE
    WHEN c.relname IN ('ledger_schema', 'schema_oldest') OR c.relkind = 'v' THEN ARRAY['SELECT']
    WHEN c.relname = 'audit' THEN ARRAY['SELECT', 'INSERT']
    ELSE ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'] END)) r (name)
WHERE c.relkind IN ('r', 'p', 'v') AND NOT has_table_privilege(c.oid, r.name)
UNION ALL
SELECT r.name || ' on ' || c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = current_schema()
CROSS JOIN LATERAL (VALUES ('SELECT'), ('USAGE'), ('UPDATE')) r (name)
WHERE c.relkind = 'S' AND c.relname IN ('ledger_token', 'deliveries_seq', 'items_seq') AND NOT has_sequence_privilege(c.oid, r.name)
UNION ALL
SELECT 'EXECUTE on ' || p.proname
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace AND n.nspname = current_schema()
WHERE p.proname LIKE 'ledger\_%' AND NOT has_function_privilege(p.oid, 'EXECUTE')
ORDER BY 1;
