-- After every scan: takes back what it did to its session. ROLLBACK undoes settings; the rest survives a rollback, or
-- would survive if the probe had got out of its transaction.
-- No arguments, no result of interest.
ROLLBACK;
RESET SESSION AUTHORIZATION;
RESET ALL;
CLOSE ALL;
UNLISTEN *;
DEALLOCATE ALL;
SELECT pg_catalog.pg_advisory_unlock_all();
