-- Runs after every statement of a session, also after a failure, so that the next statement finds the session
-- unchanged. CLOSE ALL, DEALLOCATE ALL and pg_advisory_unlock_all undo effects that the rollback does not undo.
-- No arguments. The result is not used.
ROLLBACK TO SAVEPOINT statement;
RELEASE SAVEPOINT statement;
CLOSE ALL;
DEALLOCATE ALL;
SELECT pg_catalog.pg_advisory_unlock_all();
