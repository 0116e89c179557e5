package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tallyman/rules/probe"
	"tallyman/scanners"
)

// session is one connection with one read transaction. Staged tables are temporary tables, which SQLite prefers to
// tables of the file.
type session struct {
	source *Source
	conn   *connection     // nil after Close
	hidden map[string]bool // tables of the file that staged tables hide, in lower case
	read   string          // the last hidden table that a statement tried to read
}

var errOver = errors.New("the session is closed")

// Session opens the file, stages the tables, and begins the transaction.
func (s *Source) Session(ctx context.Context, staged []scanners.StagedTable) (scanners.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	conn, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	x := &session{source: s, conn: conn, hidden: map[string]bool{}}
	if err := x.begin(ctx, staged); err != nil {
		conn.close()
		return nil, err
	}
	conn.kept = true
	return x, nil
}

func (x *session) begin(ctx context.Context, staged []scanners.StagedTable) error {
	if len(staged) > 0 {
		if err := x.conn.execute(ctx, "PRAGMA temp_store = MEMORY; PRAGMA query_only = 0; BEGIN"); err != nil {
			return err
		}
		for i := range staged {
			if err := x.stage(ctx, &staged[i]); err != nil {
				return cannotStage(&staged[i], err)
			}
		}
		if err := x.conn.execute(ctx, "COMMIT; PRAGMA query_only = 1"); err != nil {
			return err
		}
	}
	// The first read takes the snapshot.
	if err := x.conn.execute(ctx, "BEGIN; SELECT count(*) FROM main.sqlite_schema"); err != nil {
		return err
	}
	return x.conn.secure(ctx, x.hides)
}

func (c *connection) execute(ctx context.Context, statements string) error {
	if _, err := c.sql.ExecContext(ctx, statements); err != nil {
		return mapError(ctx, err, scanners.CodeFailed)
	}
	return nil
}

// hides tells whether a staged table hides this table of the file. SQLite asks for every table that a statement reads,
// including the tables behind a view.
func (x *session) hides(table string) bool {
	if !x.hidden[strings.ToLower(table)] {
		return false
	}
	x.read = table
	return true
}

// Close closes the connection, which also removes everything that was staged.
func (x *session) Close() error {
	if x.conn != nil {
		x.conn.kept = false
		x.conn.close()
		x.conn = nil
	}
	return nil
}

func (x *session) connect(context.Context) (*connection, error) {
	if x.conn == nil {
		return nil, errorf(scanners.CodeFailed, false, "", "%w", errOver)
	}
	return x.conn, nil
}

// Prepare compiles the statement. Prepare refuses a statement that would read a table of the file although a table is
// staged for it.
func (x *session) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.PreparedProbe, error) {
	x.read = ""
	p, err := x.source.prepare(ctx, x, stmt)
	switch {
	case x.read != "":
		return nil, x.bypass(ctx, stmt)
	case err != nil:
		return nil, err
	}
	return p, nil
}

// bypass returns the error of a statement that reads a hidden table. The error names the cause: a view, or the schema
// main before the table.
func (x *session) bypass(ctx context.Context, stmt *probe.Statement) error {
	views, err := x.conn.views(ctx)
	if err != nil {
		return err
	}
	tokens, _ := probe.Lex(stmt.Text)
	for _, t := range tokens {
		if name := strings.ToLower(t.Name()); views[name] {
			return &scanners.Error{
				Code: scanners.CodeStage, Hint: "stage " + name + " itself",
				Err: fmt.Errorf("%s is a view that reads the file's own %s, not the staged one", name, x.read),
			}
		}
	}
	return &scanners.Error{
		Code: scanners.CodeStage, Hint: "write " + x.read + " without its schema, so that the staged table is read",
		Err: fmt.Errorf("main.%s is the file's own table, not the staged one", x.read),
	}
}

// views returns the names of the file's views in lower case.
func (c *connection) views(ctx context.Context) (map[string]bool, error) {
	names, err := c.texts(ctx, "SELECT lower(name) FROM main.sqlite_schema WHERE type = 'view'")
	views := map[string]bool{}
	for _, name := range names {
		views[name] = true
	}
	return views, err
}
