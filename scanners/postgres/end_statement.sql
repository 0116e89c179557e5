-- After every statement of a session: takes back what it did, so that the next one finds the session as this one did,
-- also where it failed. What no rollback undoes is undone by name.
-- No arguments, no result of interest.
ROLLBACK TO SAVEPOINT statement;
RELEASE SAVEPOINT statement;
CLOSE ALL;
DEALLOCATE ALL;
SELECT pg_catalog.pg_advisory_unlock_all();
