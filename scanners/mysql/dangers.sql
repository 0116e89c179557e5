-- What the user may do besides reading.
-- No arguments. One row for each right on all databases, and for each stored function that is visible and does not
-- declare that it only reads: the database (empty for a right), the name, the function's data access clause, the user.
-- Also one row for *.*, for each database and for each table that the user may change: its name as in a GRANT, the
-- rights, WRITES, the user.
SELECT '', PRIVILEGE_TYPE, '', GRANTEE
FROM information_schema.USER_PRIVILEGES
WHERE PRIVILEGE_TYPE IN ('FILE', 'SUPER', 'SHUTDOWN', 'RELOAD', 'EXECUTE', 'CREATE ROUTINE', 'CONNECTION ADMIN', 'SET USER')
UNION ALL
SELECT ROUTINE_SCHEMA, ROUTINE_NAME, SQL_DATA_ACCESS, CURRENT_USER()
FROM information_schema.ROUTINES
WHERE ROUTINE_TYPE = 'FUNCTION' AND SQL_DATA_ACCESS IN ('CONTAINS SQL', 'MODIFIES SQL DATA') AND ROUTINE_SCHEMA NOT IN ('mysql', 'sys')
UNION ALL
SELECT '*.*', GROUP_CONCAT(PRIVILEGE_TYPE ORDER BY 1 SEPARATOR ', '), 'WRITES', GRANTEE
FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE IN ('INSERT', 'UPDATE', 'DELETE', 'DROP') GROUP BY GRANTEE
UNION ALL
SELECT CONCAT('`', TABLE_SCHEMA, '`.*'), GROUP_CONCAT(PRIVILEGE_TYPE ORDER BY 1 SEPARATOR ', '), 'WRITES', GRANTEE
FROM information_schema.SCHEMA_PRIVILEGES WHERE PRIVILEGE_TYPE IN ('INSERT', 'UPDATE', 'DELETE', 'DROP') GROUP BY TABLE_SCHEMA, GRANTEE
UNION ALL
SELECT CONCAT('`', TABLE_SCHEMA, '`.`', TABLE_NAME, '`'), GROUP_CONCAT(PRIVILEGE_TYPE ORDER BY 1 SEPARATOR ', '), 'WRITES', GRANTEE
FROM information_schema.TABLE_PRIVILEGES WHERE PRIVILEGE_TYPE IN ('INSERT', 'UPDATE', 'DELETE', 'DROP') GROUP BY TABLE_SCHEMA, TABLE_NAME, GRANTEE
ORDER BY 1, 2
