-- What `tallyman ledger verify` asks about the database itself. Partitions of days are left out: their constraints and
-- indexes follow those of their parents.

-- name: shape
-- The parts that a schema has. A trigger that somebody has disabled is no part.
-- The indexes and constraints of a partition that belong to those of its parent are left out.
-- Result: kind and name.
SELECT CASE c.relkind WHEN 'S' THEN 'sequence ' WHEN 'v' THEN 'view ' ELSE 'table ' END || c.relname
FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'S', 'v') AND c.relname !~ '_[0-9]{8}$'
UNION ALL
SELECT 'column ' || c.relname || '.' || a.attname
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND c.relname !~ '_[0-9]{8}$' AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT 'index ' || c.relname || '.' || x.relname
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
WHERE c.relnamespace = current_schema()::regnamespace AND NOT x.relispartition AND c.relname !~ '_[0-9]{8}$'
UNION ALL
SELECT 'constraint ' || c.relname || '.' || k.conname
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
WHERE c.relnamespace = current_schema()::regnamespace AND k.contype IN ('p', 'u', 'f', 'c') AND k.conparentid = 0 AND c.relname !~ '_[0-9]{8}$'
UNION ALL
SELECT 'trigger ' || c.relname || '.' || t.tgname
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal AND t.tgenabled <> 'D'
UNION ALL
SELECT 'function ' || p.proname FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace
ORDER BY 1;

-- name: invalid
-- An index or a constraint that the server does not trust, for example because its creation was interrupted. It counts
-- in partitions of days, too.
-- Result: kind and name.
SELECT 'index ' || x.relname FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
WHERE x.relnamespace = current_schema()::regnamespace AND NOT (i.indisvalid AND i.indisready)
UNION ALL
SELECT 'constraint ' || c.relname || '.' || k.conname FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
WHERE c.relnamespace = current_schema()::regnamespace AND NOT k.convalidated
ORDER BY 1;

-- name: use-amcheck
-- Makes the functions of the extension amcheck callable without their schema.
-- Result: whether the role may call the function; no row = the extension is not there.
SELECT has_function_privilege(p.oid, 'EXECUTE'), set_config('search_path', current_setting('search_path') || ', ' || quote_ident(n.nspname), false)
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace JOIN pg_proc p ON p.pronamespace = n.oid AND p.proname = 'bt_index_check'
WHERE e.extname = 'amcheck' ORDER BY p.pronargs LIMIT 1;

-- name: indexes
-- Result: oid and name of each index that amcheck can read.
SELECT x.oid, x.relname FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am a ON a.oid = x.relam AND a.amname = 'btree'
WHERE x.relnamespace = current_schema()::regnamespace AND x.relkind = 'i' AND i.indisvalid ORDER BY x.relname;

-- name: check-index
-- Reads all pages of the index and checks their order. Nodes may write meanwhile.
-- Arguments: $1 oid.
SELECT bt_index_check($1::oid::regclass);
