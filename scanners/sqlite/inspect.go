package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// Tables returns the tables and views of the file.
func (s *Source) Tables(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	conn, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.close()
	names, err := conn.texts(ctx, `SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`)
	if err != nil {
		return nil, err
	}
	for i := range names {
		names[i] = written(names[i])
	}
	slices.Sort(names)
	return names, nil
}

// texts returns the first column of one of our own statements.
func (c *connection) texts(ctx context.Context, sql string, args ...any) ([]string, error) {
	rows, err := c.sql.QueryContext(ctx, sql, args...)
	if err != nil {
		return nil, mapError(ctx, err, scanners.CodeFailed)
	}
	defer func() { _ = rows.Close() }()
	var texts []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, mapError(ctx, err, scanners.CodeFailed)
		}
		texts = append(texts, text)
	}
	if err := rows.Err(); err != nil {
		return nil, mapError(ctx, err, scanners.CodeFailed)
	}
	return texts, nil
}

// Table describes a table or view in the same way as a SELECT of all its columns. Columns of a view that are
// expressions have no kind.
func (s *Source) Table(ctx context.Context, name string) (scanners.Table, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	conn, err := s.open(ctx)
	if err != nil {
		return scanners.Table{}, err
	}
	defer conn.close()
	found, err := conn.texts(ctx, "SELECT name FROM main.sqlite_schema WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')", bare(name))
	switch {
	case err != nil:
		return scanners.Table{}, err
	case len(found) == 0:
		return scanners.Table{}, scanners.UnknownTable(name)
	}
	d := &describer{ctx: ctx, conn: conn, trustNotNull: true}
	table := scanners.Table{Name: written(found[0])}
	if err := d.distrustViews(table.Name); err != nil {
		return scanners.Table{}, err
	}
	if table.Columns, err = d.all(table.Name); err != nil {
		return scanners.Table{}, err
	}
	table.PrimaryKey, table.Unique, err = conn.keys(ctx, found[0])
	return table, err
}

// all describes the columns of a table.
func (d *describer) all(table string) ([]row.Column, error) {
	infos, err := d.columns("SELECT * FROM " + table)
	if err != nil {
		return nil, err
	}
	var columns []row.Column
	for _, info := range infos {
		c := row.Column{Name: written(info.Name), Kind: declaredKind(info.DeclType), DBType: strings.ToLower(info.DeclType)}
		if c.DBType == "" {
			c.DBType = "expression"
		}
		if c.Nullable, err = d.nullable(info); err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// keys returns the columns of the primary key, and the columns of each other unique index that covers every row.
func (c *connection) keys(ctx context.Context, table string) (primary []string, unique [][]string, err error) {
	if primary, err = c.texts(ctx, "SELECT name FROM pragma_table_info(?, 'main') WHERE pk > 0 ORDER BY pk", table); err != nil {
		return nil, nil, err
	}
	indexes, err := c.texts(ctx, `SELECT name FROM pragma_index_list(?, 'main') AS l WHERE "unique" AND NOT partial AND origin <> 'pk'
		AND NOT EXISTS (SELECT 1 FROM pragma_index_info(l.name, 'main') WHERE name IS NULL) ORDER BY name`, table)
	if err != nil {
		return nil, nil, err
	}
	for _, index := range indexes {
		columns, err := c.texts(ctx, "SELECT name FROM pragma_index_info(?, 'main') ORDER BY seqno", index)
		if err != nil {
			return nil, nil, err
		}
		unique = append(unique, columns)
	}
	for _, columns := range append(slices.Clone(unique), primary) {
		for i := range columns {
			columns[i] = written(columns[i])
		}
	}
	return primary, unique, nil
}

// written returns a name as a statement writes it.
func written(name string) string {
	tokens, faults := probe.Lex(name)
	if len(tokens) == 1 && len(faults) == 0 && tokens[0].Kind == probe.Word && tokens[0].Text == name && !isKeyword(name) {
		return name
	}
	return quoted(name)
}

func isKeyword(name string) bool {
	tls := libc.NewTLS()
	defer tls.Close()
	text, err := libc.CString(name)
	if err != nil {
		return true
	}
	defer libc.Xfree(tls, text)
	return sqlite3.Xsqlite3_keyword_check(tls, text, int32(len(name))) != 0 //nolint:gosec // a name
}

// bare returns the name of a table without quotes and schema.
func bare(name string) string {
	tokens, _ := probe.Lex(name)
	if len(tokens) == 3 && tokens[1].Is(".") && strings.EqualFold(tokens[0].Name(), "main") {
		tokens = tokens[2:]
	}
	if len(tokens) != 1 {
		return ""
	}
	if tokens[0].Kind == probe.Quoted {
		return strings.ReplaceAll(tokens[0].Name(), `""`, `"`)
	}
	return tokens[0].Text
}

// tableColumn describes a column of the file, so that a staged table can have a similar column.
type tableColumn struct {
	name, declared string
	required       bool   // NOT NULL, or the primary key that SQLite numbers
	numbered       bool   // INTEGER PRIMARY KEY
	initial        string // the expression of its default; "" means NULL
	generated      string // "(expression) STORED"; "" if the column is not generated
	collation      string // " COLLATE name"; "" if the column has the default collation
}

// tableColumns returns the columns of a table or view of the file, or none if there is no such table.
func (c *connection) tableColumns(ctx context.Context, table string) ([]tableColumn, error) {
	var create string
	err := c.sql.QueryRowContext(ctx, "SELECT iif(type = 'table', coalesce(sql, ''), '') FROM main.sqlite_schema WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')",
		table).Scan(&create)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, mapError(ctx, err, scanners.CodeFailed)
	}
	definitions := columnDefinitions(create)
	rows, err := c.sql.QueryContext(ctx, `SELECT name, type, "notnull", coalesce(dflt_value, ''), hidden,
		pk > 0 AND upper(type) = 'INTEGER' AND (SELECT count(*) FROM pragma_table_info(?1, 'main') WHERE pk > 0) = 1
		FROM pragma_table_xinfo(?1, 'main') WHERE hidden <> 1 ORDER BY cid`, table)
	if err != nil {
		return nil, mapError(ctx, err, scanners.CodeFailed)
	}
	defer func() { _ = rows.Close() }()
	var columns []tableColumn
	for rows.Next() {
		var column tableColumn
		var hidden int
		if err := rows.Scan(&column.name, &column.declared, &column.required, &column.initial, &hidden, &column.numbered); err != nil {
			return nil, mapError(ctx, err, scanners.CodeFailed)
		}
		column.required = column.required || column.numbered
		definition := definitions[strings.ToLower(column.name)]
		column.collation = definition.collation
		if hidden == 2 || hidden == 3 {
			column.generated = definition.generated + map[int]string{2: " VIRTUAL", 3: " STORED"}[hidden]
		}
		columns = append(columns, column)
	}
	if err := rows.Err(); err != nil {
		return nil, mapError(ctx, err, scanners.CodeFailed)
	}
	return columns, nil
}

// columnDefinition is the part of a column's definition that only the text of the CREATE TABLE has.
type columnDefinition struct{ generated, collation string }

// columnDefinitions reads a CREATE TABLE that SQLite has accepted. columnDefinitions returns the definitions by column,
// in lower case.
func columnDefinitions(create string) map[string]columnDefinition {
	tokens, _ := probe.Lex(create)
	open := 0
	for open < len(tokens) && !tokens[open].Is("(") {
		open++
	}
	end := closing(tokens, open)
	if end < 0 {
		return nil
	}
	found := map[string]columnDefinition{}
	for _, column := range split(tokens[open+1 : end]) {
		if len(column) == 0 {
			continue
		}
		var d columnDefinition
		depth := 0
		for i, t := range column {
			switch {
			case t.Is("("):
				depth++
			case t.Is(")"):
				depth--
			case depth > 0 || i+1 == len(column):
			case t.Is("as") && column[i+1].Is("("):
				if last := closing(column, i+1); last > 0 {
					d.generated = create[column[i+1].Start:column[last].End()]
				}
			case t.Is("collate"):
				d.collation = " COLLATE " + column[i+1].Text
			}
		}
		found[strings.ToLower(column[0].Name())] = d
	}
	return found
}

// Names implements scanners.Namer.
func (*Source) Names() string {
	return `SELECT CAST(m.name AS TEXT) AS t, CAST(p.name AS TEXT) AS c FROM sqlite_schema m JOIN pragma_table_info(m.name) p WHERE m.type IN ('table', 'view')`
}
