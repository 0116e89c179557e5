-- Runs at the end of every transaction, and resets the session. A plain scan that ended well needs only its ROLLBACK.
-- ROLLBACK undoes settings. The other statements undo what survives a rollback, or would survive if the probe had ended
-- its transaction.
-- No arguments. The result is not used.
ROLLBACK;
RESET SESSION AUTHORIZATION;
RESET ALL;
CLOSE ALL;
UNLISTEN *;
DEALLOCATE ALL;
SELECT pg_catalog.pg_advisory_unlock_all();
