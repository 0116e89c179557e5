package mysql

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	"tallyman/rules/probe"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

var (
	//go:embed tables.sql
	tablesSQL string
	//go:embed keys.sql
	keysSQL string
)

// Tables returns the tables and views on which the user has any right. Names from other databases include the database.
func (s *Source) Tables(ctx context.Context) ([]string, error) {
	var names []string
	err := s.look(ctx, func(ctx context.Context, t *transaction) error {
		found, err := t.texts(ctx, tablesSQL)
		for _, table := range found {
			names = append(names, s.dialect.written(table[0], table[1]))
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// Table describes a table in the same way as a SELECT of all its columns.
func (s *Source) Table(ctx context.Context, name string) (scanners.Table, error) {
	database, base, ok := parseName(name, s.dialect.database)
	if !ok {
		return scanners.Table{}, scanners.UnknownTable(name)
	}
	var table scanners.Table
	err := s.look(ctx, func(ctx context.Context, t *transaction) error {
		database, base, err := t.find(ctx, database, base)
		if err != nil {
			return err
		}
		if base == "" {
			return scanners.UnknownTable(name)
		}
		table, err = t.table(ctx, database, base)
		return err
	})
	return table, err
}

func (s *Source) look(ctx context.Context, look func(context.Context, *transaction) error) error {
	return s.Do(ctx, func(ctx context.Context, tx sqldb.Transaction) error {
		t, ok := tx.(*transaction)
		if !ok {
			return errDriver
		}
		return look(ctx, t)
	})
}

func (d *dialect) written(database, name string) string {
	if database == d.database {
		return written(name)
	}
	return written(database) + "." + written(name)
}

func (t *transaction) table(ctx context.Context, database, name string) (scanners.Table, error) {
	table := scanners.Table{Name: t.dialect.written(database, name)}
	sql := "SELECT * FROM " + written(database) + "." + written(name)
	columns, err := t.Describe(ctx, &probe.Statement{Text: sql}, sql)
	if err != nil {
		return table, err
	}
	for _, c := range columns {
		c.Name = written(c.Name)
		table.Columns = append(table.Columns, c.Column)
	}
	keys, err := t.texts(ctx, keysSQL, database, name)
	last := ""
	for _, key := range keys {
		index, column := key[0], written(key[1])
		switch {
		case index == "PRIMARY":
			table.PrimaryKey = append(table.PrimaryKey, column)
		case index != last:
			table.Unique = append(table.Unique, []string{column})
		default:
			n := len(table.Unique) - 1
			table.Unique[n] = append(table.Unique[n], column)
		}
		last = index
	}
	return table, err
}

var _ interface {
	scanners.Source
	scanners.Explainer
	scanners.Sessions
	scanners.Inspector
} = (*Source)(nil)

//go:embed dangers.sql
var dangersSQL string

// rights says what a right on all databases allows.
var rights = map[string]string{
	"FILE": "reads and writes files of the server", "SUPER": "changes the server", "SHUTDOWN": "stops the server", "RELOAD": "changes the server",
	"EXECUTE": "calls every stored function", "CREATE ROUTINE": "makes functions", "CONNECTION ADMIN": "ends connections of others", "SET USER": "makes functions in the name of others",
}

// Dangers returns the rights with which the user can act on the server or change tables. It also returns the stored
// functions that the user may call and that are not declared as reading only.
func (s *Source) Dangers(ctx context.Context) ([]scanners.Danger, error) {
	var dangers []scanners.Danger
	err := s.look(ctx, func(ctx context.Context, t *transaction) error {
		found, err := t.texts(ctx, dangersSQL)
		for _, values := range found {
			database, name, access, user := values[0], values[1], values[2], values[3]
			if access == "WRITES" {
				dangers = append(dangers, scanners.Danger{Name: name + " on " + database, Does: "changes rows", Revoke: "REVOKE " + name + " ON " + database + " FROM " + user + ";", Writes: true})
				continue
			}
			if database == "" {
				dangers = append(dangers, scanners.Danger{Name: name, Does: rights[name], Revoke: "REVOKE " + name + " ON *.* FROM " + user + ";"})
				continue
			}
			does := "is not declared as READS SQL DATA or NO SQL"
			if access == "MODIFIES SQL DATA" {
				does = "is declared as MODIFIES SQL DATA"
			}
			account, host, _ := strings.Cut(user, "@")
			dangers = append(dangers, scanners.Danger{
				Name: database + "." + name, Does: does,
				Revoke: "REVOKE EXECUTE ON FUNCTION `" + database + "`.`" + name + "` FROM '" + account + "'@'" + host + "';",
			})
		}
		return err
	})
	return dangers, err
}

var _ scanners.Auditor = (*Source)(nil)

// Names implements scanners.Namer.
func (*Source) Names() string {
	return `SELECT table_name AS t, column_name AS c FROM information_schema.columns
		WHERE table_schema NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')`
}
