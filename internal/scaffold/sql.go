package scaffold

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

//go:embed sql
var sqlFiles embed.FS

// Purpose is what a database is used for.
type Purpose string

// The purposes.
const (
	ForLedger Purpose = "ledger"
	ForSource Purpose = "source"
)

// Grants names what the printed SQL is about. An empty field has a default.
type Grants struct {
	Dialect  string // postgres, mysql, mariadb, sqlserver or oracle
	For      Purpose
	Database string
	Schema   string
	Tables   []string // The tables that probes may read. Empty means all tables of the schema.
}

// Dialects returns the databases whose roles SQL prints.
func Dialects() []string { return []string{"postgres", "mysql", "mariadb", "sqlserver", "oracle"} }

// sqlName matches a name that SQL takes without quotes, with or without its schema.
var sqlName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?$`)

// SQL returns a script that makes the roles for a database, and grants them the rights that they need and no others. An
// error says which field is wrong.
func SQL(g Grants) (string, error) {
	if !slices.Contains(Dialects(), g.Dialect) {
		return "", fmt.Errorf("--sql takes %s, not %q", strings.Join(Dialects(), ", "), g.Dialect)
	}
	if g.Dialect == "mariadb" {
		g.Dialect = "mysql"
	}
	switch {
	case g.For == "" && g.Dialect == "postgres":
		g.For = ForLedger
	case g.For == "":
		g.For = ForSource
	case g.For != ForLedger && g.For != ForSource:
		return "", fmt.Errorf("--for takes ledger or source, not %q", g.For)
	case g.For == ForLedger && g.Dialect != "postgres":
		return "", fmt.Errorf("--for ledger takes postgres: a ledger in %s is not available", g.Dialect)
	}
	if g.For == ForLedger && len(g.Tables) > 0 {
		return "", fmt.Errorf("--table is for the tables of a source: add --for source")
	}
	g.Database = cmp.Or(g.Database, map[Purpose]string{ForLedger: "tallyman", ForSource: "wms"}[g.For])
	g.Schema = cmp.Or(g.Schema, map[string]string{"postgres": "public", "sqlserver": "dbo"}[g.Dialect], "wms")
	for _, name := range append([]string{g.Database, g.Schema}, g.Tables...) {
		if !sqlName.MatchString(name) {
			return "", fmt.Errorf("%q is no name that SQL takes without quotes: letters, digits and _", name)
		}
	}
	name := fmt.Sprintf("sql/%s-%s.sql", g.Dialect, g.For)
	return fill(sqlFiles, name, g)
}

// fill returns the text of an embedded template.
func fill(files embed.FS, name string, data any) (string, error) {
	text, err := files.ReadFile(name)
	if err != nil {
		return "", err
	}
	t, err := template.New(name).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = t.Execute(&b, data)
	return b.String(), err
}
