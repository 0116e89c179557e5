-- The views of some names that the user may know of, with what they are made of.
-- 1 and on: the names; the caller writes as many parameters as there are. One row each: the database, the name, the definition; '' where the user has no SHOW VIEW.
SELECT TABLE_SCHEMA, TABLE_NAME, COALESCE(VIEW_DEFINITION, '')
FROM information_schema.VIEWS
WHERE TABLE_NAME IN (?)
