package scanners

import (
	"context"
	"errors"
)

// Scratch is a schema of its own on a source's server, which the suite of the drivers fills. Only `tallyman source test --create-schema` makes one: nothing
// else in the program writes to a source's server.
type Scratch struct {
	Config Config // of a source on the schema
	Schema string // as it stands before the names of tables
	Bare   bool   // the source finds the tables by their names alone
	// Exec runs statements that write, past all guards.
	Exec func(ctx context.Context, sql string) error
	// Drop takes the schema away, with all that is in it.
	Drop func(ctx context.Context) error
}

// ErrSchemaExists is why a schema was not made: what is in it is not the suite's.
var ErrSchemaExists = errors.New("the schema exists already; name one that does not, since the command drops it in the end")
