package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"tallyman/rules/probe"
	"tallyman/scanners"
)

// tableColumn is a column of a table of the file, as far as another table can be made after it.
type tableColumn struct {
	name, declared string
	required       bool   // NOT NULL, or the primary key that SQLite numbers
	numbered       bool   // INTEGER PRIMARY KEY
	initial        string // expression of its default, "" = NULL
	generated      string // "(expression) STORED"; "" where it is not
	collation      string // " COLLATE name"; "" where it has the usual one
}

// tableColumns returns the columns of a table or view of the file; none where there is no such table.
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

// definition is what only the text of a CREATE TABLE tells of a column.
type definition struct{ generated, collation string }

// columnDefinitions reads a CREATE TABLE that SQLite has taken, by column in lower case.
func columnDefinitions(create string) map[string]definition {
	tokens, _ := probe.Lex(create)
	open := 0
	for open < len(tokens) && !tokens[open].Is("(") {
		open++
	}
	end := closing(tokens, open)
	if end < 0 {
		return nil
	}
	found := map[string]definition{}
	for _, column := range split(tokens[open+1 : end]) {
		if len(column) == 0 {
			continue
		}
		var d definition
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
