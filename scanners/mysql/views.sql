-- The visible views, with their definitions.
-- No arguments. One row each: the database, the name, the definition. The definition is empty if the user has no SHOW
-- VIEW.
SELECT TABLE_SCHEMA, TABLE_NAME, COALESCE(VIEW_DEFINITION, '')
FROM information_schema.VIEWS
WHERE TABLE_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
