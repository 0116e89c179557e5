-- The unique indexes of a table that consist of columns only.
-- 1 the database, 2 the table. One row for each column of an index, the primary key first, in order: the index's name,
-- the column's name.
SELECT INDEX_NAME, COLUMN_NAME
FROM information_schema.STATISTICS s
WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND NON_UNIQUE = 0 AND NOT EXISTS (
    SELECT 1 FROM information_schema.STATISTICS e
    WHERE e.TABLE_SCHEMA = s.TABLE_SCHEMA AND e.TABLE_NAME = s.TABLE_NAME AND e.INDEX_NAME = s.INDEX_NAME AND e.COLUMN_NAME IS NULL)
ORDER BY INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX
