-- The definitions of the visible views that have one of the names.
-- 1 and on: pairs of a database and a name, both in lower case; the caller writes as many pairs as there are names. One
-- row each: the database, the name, the definition. The definition is empty if the user has no SHOW VIEW.
SELECT TABLE_SCHEMA, TABLE_NAME, COALESCE(VIEW_DEFINITION, '')
FROM information_schema.VIEWS
WHERE (LOWER(TABLE_SCHEMA), LOWER(TABLE_NAME)) IN ((?, ?))
