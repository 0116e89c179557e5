-- The definitions of the visible views that have one of the names.
-- 1 and on: the names; the caller writes as many parameters as there are names. One row each: the database, the name,
-- the definition. The definition is empty if the user has no SHOW VIEW.
SELECT TABLE_SCHEMA, TABLE_NAME, COALESCE(VIEW_DEFINITION, '')
FROM information_schema.VIEWS
WHERE TABLE_NAME IN (?)
