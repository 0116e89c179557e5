-- The user of a source on MySQL or MariaDB. Run this script once, as an administrator:
--
--   tallyman init --sql mysql --database {{ .Database }} | mysql
--
--   tallyman_probe  runs the probes of rules. The user may only SELECT{{ if .Tables }} from the tables below{{ else }} from the tables of {{ .Database }}{{ end }}.
--
-- The user is locked until you set a password:
--   ALTER USER tallyman_probe IDENTIFIED BY '…' ACCOUNT UNLOCK;

CREATE USER tallyman_probe WITH MAX_USER_CONNECTIONS 20 ACCOUNT LOCK;
{{- if .Tables }}
{{- range .Tables }}
GRANT SELECT ON {{ . }} TO tallyman_probe;
{{- end }}
{{- else }}
GRANT SELECT ON {{ .Database }}.* TO tallyman_probe;
{{- end }}
-- With this right, Tallyman sees and checks the functions behind views.
GRANT SHOW VIEW ON {{ .Database }}.* TO tallyman_probe;

-- Optional, for `tallyman rules test --source` and `tallyman rules diff`: temporary tables.
-- GRANT CREATE TEMPORARY TABLES ON {{ .Database }}.* TO tallyman_probe;
