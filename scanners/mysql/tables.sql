-- The tables and views on which the user has any right.
-- No arguments. One row each: the database, the name.
SELECT TABLE_SCHEMA, TABLE_NAME
FROM information_schema.TABLES
WHERE TABLE_TYPE <> 'SEQUENCE' AND TABLE_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
