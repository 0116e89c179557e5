-- The functions that the user may execute, and through which grantee. No arguments. One row for each function and
-- grantee: the function's name as in the configuration, its bare name, its arguments, the schema, the grantee (empty
-- for PUBLIC). Then one row for each right of the role itself: NULL, the right's name, NULL, NULL, the role. Then one
-- row for each pair of a grantee and a schema in which the user may change tables through that grantee: NULL, WRITES,
-- the rights, the schema, the grantee (empty for PUBLIC).
SELECT CASE WHEN n.nspname = 'pg_catalog' THEN '' ELSE pg_catalog.quote_ident(n.nspname) || '.' END || pg_catalog.quote_ident(p.proname),
       p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid), pg_catalog.quote_ident(n.nspname),
       CASE WHEN a.grantee = 0 THEN '' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END
FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
CROSS JOIN LATERAL pg_catalog.aclexplode(COALESCE(p.proacl, pg_catalog.acldefault('f', p.proowner))) a
WHERE p.prokind = 'f' AND p.prorettype <> 'pg_catalog.trigger'::pg_catalog.regtype AND a.privilege_type = 'EXECUTE'
  AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
  AND (a.grantee = 0 OR pg_catalog.pg_has_role(a.grantee, 'USAGE'))
UNION ALL
SELECT NULL, r.rolname, NULL, NULL, pg_catalog.quote_ident(current_user)
FROM pg_catalog.pg_roles r
WHERE r.rolname IN ('pg_signal_backend', 'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program', 'pg_checkpoint', 'pg_maintain')
  AND pg_catalog.pg_has_role(r.oid, 'USAGE')
UNION ALL
SELECT NULL, 'SUPERUSER', NULL, NULL, pg_catalog.quote_ident(current_user)
FROM pg_catalog.pg_roles r WHERE r.rolname = current_user AND r.rolsuper
UNION ALL
SELECT NULL, 'WRITES', pg_catalog.string_agg(DISTINCT a.privilege_type, ', ' ORDER BY a.privilege_type), pg_catalog.quote_ident(n.nspname),
       CASE WHEN a.grantee = 0 THEN '' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL pg_catalog.aclexplode(COALESCE(c.relacl, pg_catalog.acldefault('r', c.relowner))) a
WHERE c.relkind IN ('r', 'p', 'v', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')
  AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
  AND (a.grantee = 0 OR pg_catalog.pg_has_role(a.grantee, 'USAGE'))
GROUP BY n.nspname, a.grantee
ORDER BY 1, 3, 5
