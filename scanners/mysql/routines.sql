-- The visible stored functions that have one of the names.
-- 1 and on: pairs of a database in lower case and a name; the caller writes as many pairs as there are names. Names
-- compare as the server compares them in a call: without regard to case and accents. One row each: the database, the
-- name, the data access clause (CONTAINS SQL, NO SQL, READS SQL DATA, MODIFIES SQL DATA).
SELECT ROUTINE_SCHEMA, ROUTINE_NAME, SQL_DATA_ACCESS
FROM information_schema.ROUTINES
WHERE ROUTINE_TYPE = 'FUNCTION' AND (LOWER(ROUTINE_SCHEMA), ROUTINE_NAME) IN ((?, ?))
