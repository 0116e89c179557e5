-- The user of a source on SQL Server. Run this script once, as an administrator:
--
--   tallyman init --sql sqlserver --database {{ .Database }} > roles.sql
--   sqlcmd -v password="…" -i roles.sql
--
--   tallyman_probe  runs the probes of rules. The user may only SELECT{{ if .Tables }} from the tables below{{ else }} from the tables of schema {{ .Schema }}{{ end }}.
--
-- Tallyman's tests have not run this script on a server.

CREATE LOGIN tallyman_probe WITH PASSWORD = '$(password)';
GO
USE {{ .Database }};
GO
CREATE USER tallyman_probe FOR LOGIN tallyman_probe;
{{- if .Tables }}
{{- range .Tables }}
GRANT SELECT ON {{ . }} TO tallyman_probe;
{{- end }}
{{- else }}
GRANT SELECT ON SCHEMA::{{ .Schema }} TO tallyman_probe;
{{- end }}
GO

-- Optional: probes then neither wait for writers nor hold writers up.
-- ALTER DATABASE {{ .Database }} SET ALLOW_SNAPSHOT_ISOLATION ON;
