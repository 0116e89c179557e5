-- The stored functions of some names that the user may know of.
-- 1 and on: the names; the caller writes as many parameters as there are. One row each: the database, the name, what the function says of itself (CONTAINS SQL, NO SQL, READS SQL DATA,
-- MODIFIES SQL DATA).
SELECT ROUTINE_SCHEMA, ROUTINE_NAME, SQL_DATA_ACCESS
FROM information_schema.ROUTINES
WHERE ROUTINE_TYPE = 'FUNCTION' AND ROUTINE_NAME IN (?)
