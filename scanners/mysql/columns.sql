-- The columns of a table or view, in order.
-- 1 the database, 2 the name. One row each: the name, the type, whether it is NOT NULL, the default (NULL if there is
-- none), the server's remarks (auto_increment, DEFAULT_GENERATED, VIRTUAL GENERATED …), the expression of a generated
-- column, the collation, whether there is a default.
SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE = 'NO', COLUMN_DEFAULT, EXTRA, GENERATION_EXPRESSION, COLLATION_NAME, COLUMN_DEFAULT IS NOT NULL
FROM information_schema.COLUMNS
WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?
ORDER BY ORDINAL_POSITION
