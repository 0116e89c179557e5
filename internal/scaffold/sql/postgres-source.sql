-- The user of a source on PostgreSQL. Run this script once, as a superuser of the WMS database:
--
--   tallyman init --sql postgres --for source --database {{ .Database }} | psql --dbname {{ .Database }}
--
--   tallyman_probe  runs the probes of rules. The user may only SELECT{{ if .Tables }} from the tables below{{ else }} from the tables of schema {{ .Schema }}{{ end }}.
--
-- The user has no password yet. In psql, set one: \password tallyman_probe.

CREATE ROLE tallyman_probe LOGIN;
ALTER ROLE tallyman_probe SET default_transaction_read_only = on;
-- Statements of this user end after 60 s. Tallyman sets a timeout of its own for each probe.
ALTER ROLE tallyman_probe SET statement_timeout = '60s';

GRANT CONNECT ON DATABASE {{ .Database }} TO tallyman_probe;
GRANT USAGE ON SCHEMA {{ .Schema }} TO tallyman_probe;
{{- if .Tables }}
{{- range .Tables }}
GRANT SELECT ON {{ . }} TO tallyman_probe;
{{- end }}
{{- else }}
GRANT SELECT ON ALL TABLES IN SCHEMA {{ .Schema }} TO tallyman_probe;
{{- end }}

-- Before version 15, PostgreSQL lets every user create tables in the schema public. This line ends that, for every user
-- of the database without a grant of their own:
-- REVOKE CREATE ON SCHEMA public FROM PUBLIC;
-- Optional: `tallyman rules check --source` then sees long transactions.
-- GRANT pg_read_all_stats TO tallyman_probe;
