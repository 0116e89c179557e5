-- The tables and views that a name may mean.
-- 1 the database, 2 the name, compared without regard to case. One row each: the database, the name, both as the server
-- spells them.
SELECT TABLE_SCHEMA, TABLE_NAME
FROM information_schema.TABLES
WHERE LOWER(TABLE_SCHEMA) = LOWER(?) AND LOWER(TABLE_NAME) = LOWER(?) AND TABLE_TYPE <> 'SEQUENCE'
