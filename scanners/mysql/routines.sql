-- The visible stored functions that have one of the names.
-- 1 and on: the names; the caller writes as many parameters as there are names. One row each: the database, the name,
-- the data access clause (CONTAINS SQL, NO SQL, READS SQL DATA, MODIFIES SQL DATA).
SELECT ROUTINE_SCHEMA, ROUTINE_NAME, SQL_DATA_ACCESS
FROM information_schema.ROUTINES
WHERE ROUTINE_TYPE = 'FUNCTION' AND ROUTINE_NAME IN (?)
