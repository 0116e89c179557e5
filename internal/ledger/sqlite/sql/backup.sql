-- What `tallyman backup` and `tallyman ledger verify` ask about the file itself.

-- name: snapshot
-- The first statement of a transaction. All later reads of the transaction see the file as of this moment.
-- Result: the number of tables and indexes.
SELECT count(*) FROM sqlite_master;

-- name: quick-check
-- Looks at every page, without the comparison of indexes and tables.
-- Result: the first faults, or "ok".
PRAGMA quick_check(5);

-- name: integrity-check
-- Looks at every page, and compares indexes and tables.
-- Result: the first faults, or "ok".
PRAGMA integrity_check(5);
