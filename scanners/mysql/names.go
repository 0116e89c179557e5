package mysql

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"tallyman/rules/probe"
)

// texts runs a statement of ours and returns its rows as texts, NULL as "".
func (t *transaction) texts(ctx context.Context, text string, args ...any) ([][]string, error) {
	rows, err := t.conn.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	_, found, err := readTexts(rows)
	return found, err
}

// readTexts reads rows to their end.
func readTexts(rows *sql.Rows) (names []string, found [][]string, err error) {
	defer func() { _ = rows.Close() }()
	if names, err = rows.Columns(); err != nil {
		return nil, nil, err
	}
	values, dest := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		dest[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return nil, nil, err
		}
		var texts []string
		for _, v := range values {
			texts = append(texts, v.String)
		}
		found = append(found, texts)
	}
	return names, found, rows.Err()
}

// quoted is a name for a session without ANSI_QUOTES.
func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// written is a name as a probe writes it: in double quotes where it has to be.
func written(name string) string {
	tokens, faults := probe.Lex(name)
	if len(tokens) == 1 && len(faults) == 0 && tokens[0].Kind == probe.Word && tokens[0].Text == name && !reserved[strings.ToUpper(name)] {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// parseName reads the name of a table as a probe writes it, with or without its database.
func parseName(text, home string) (database, name string, ok bool) {
	tokens, faults := probe.Lex(text)
	named := func(t probe.Token) string {
		switch {
		case t.Kind == probe.Word:
			return t.Text
		case t.Kind == probe.Quoted && t.Text[0] != '[':
			return strings.ReplaceAll(t.Name(), t.Text[:1]+t.Text[:1], t.Text[:1])
		}
		return ""
	}
	switch {
	case len(faults) > 0:
	case len(tokens) == 1:
		database, name = home, named(tokens[0])
	case len(tokens) == 3 && tokens[1].Is("."):
		database, name = named(tokens[0]), named(tokens[2])
	}
	return database, name, database != "" && name != ""
}

var reserved = func() map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(reservedWords) {
		words[word] = true
	}
	return words
}()

// find returns the table or view of that name: spelled alike, or else but for upper and lower case. "" where there is none.
func (t *transaction) find(ctx context.Context, database, name string) (string, string, error) {
	found, err := t.texts(ctx, findTableSQL, database, name)
	if err != nil || len(found) == 0 {
		return "", "", err
	}
	i := max(slices.IndexFunc(found, func(r []string) bool { return r[0] == database && r[1] == name }), 0)
	return found[i][0], found[i][1], nil
}
