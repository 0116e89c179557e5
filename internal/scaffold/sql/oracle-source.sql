-- The user of a source on Oracle. Run this script once in SQL*Plus, as an administrator. Oracle has no right to read
-- a whole schema before version 23, so name the tables with --table:
--
--   tallyman init --sql oracle --table wms.bin_stock > roles.sql
--   sqlplus / as sysdba @roles.sql
--
--   tallyman_probe  runs the probes of rules. The user may only SELECT{{ if .Tables }} from the tables below{{ else }} from the tables of schema {{ .Schema }}{{ end }}.
--
-- Tallyman's tests have not run this script on a server.

ACCEPT password CHAR PROMPT 'Password of tallyman_probe: ' HIDE
CREATE USER tallyman_probe IDENTIFIED BY "&password";
GRANT CREATE SESSION TO tallyman_probe;
{{- if .Tables }}
{{- range .Tables }}
GRANT READ ON {{ . }} TO tallyman_probe;
{{- end }}
{{- else }}
GRANT READ ANY TABLE ON SCHEMA {{ .Schema }} TO tallyman_probe;
{{- end }}
