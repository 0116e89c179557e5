-- What the user may do beside reading.
-- No arguments. One row for each right that it has on all databases, and for each stored function that it may know of and that does not say that it only reads: the
-- database ('' for a right), the name, what the function says of itself, the user.
SELECT '', PRIVILEGE_TYPE, '', GRANTEE
FROM information_schema.USER_PRIVILEGES
WHERE PRIVILEGE_TYPE IN ('FILE', 'SUPER', 'SHUTDOWN', 'RELOAD', 'EXECUTE', 'CREATE ROUTINE', 'CONNECTION ADMIN', 'SET USER')
UNION ALL
SELECT ROUTINE_SCHEMA, ROUTINE_NAME, SQL_DATA_ACCESS, CURRENT_USER()
FROM information_schema.ROUTINES
WHERE ROUTINE_TYPE = 'FUNCTION' AND SQL_DATA_ACCESS IN ('CONTAINS SQL', 'MODIFIES SQL DATA') AND ROUTINE_SCHEMA NOT IN ('mysql', 'sys')
ORDER BY 1, 2
