-- The roles of the ledger on PostgreSQL 14 or newer. Run this script once, as a superuser:
--
--   tallyman init --sql postgres --for ledger --database {{ .Database }} | psql --dbname postgres
--
--   tallyman_owner  owns the tables. Only `tallyman migrate up` uses this role.
--   tallyman_app    runs `tallyman serve`. The role reads and writes rows. The role changes no table: the function
--                   ledger_day makes and drops partitions of days for it, as the owner.
--
-- The roles have no password yet. In psql, set one for each: \password tallyman_owner, \password tallyman_app.

CREATE ROLE tallyman_owner LOGIN;
CREATE ROLE tallyman_app LOGIN;
CREATE DATABASE {{ .Database }} OWNER tallyman_owner;
REVOKE ALL ON DATABASE {{ .Database }} FROM PUBLIC;
GRANT CONNECT ON DATABASE {{ .Database }} TO tallyman_app;

\connect {{ .Database }}
ALTER SCHEMA public OWNER TO tallyman_owner;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO tallyman_app;

-- The rights on all that `migrate up` and ledger_day make from now on. Nobody else may call the functions of the
-- ledger.
ALTER DEFAULT PRIVILEGES FOR ROLE tallyman_owner IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO tallyman_app;
ALTER DEFAULT PRIVILEGES FOR ROLE tallyman_owner IN SCHEMA public
    GRANT SELECT, USAGE, UPDATE ON SEQUENCES TO tallyman_app;
ALTER DEFAULT PRIVILEGES FOR ROLE tallyman_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE tallyman_owner IN SCHEMA public
    GRANT EXECUTE ON FUNCTIONS TO tallyman_app;
