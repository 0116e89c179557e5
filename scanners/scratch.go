package scanners

import (
	"context"
	"errors"
)

// Scratch is a temporary schema on a source's server, for the suite of the drivers. Only `tallyman source test
// --create-schema` creates one. Nothing else in the program writes to a source's server.
type Scratch struct {
	Config Config // of a source that reads the schema
	Schema string // the prefix of table names
	Bare   bool   // the source finds tables without the prefix
	// Exec runs statements that write. Exec bypasses all guards.
	Exec func(ctx context.Context, sql string) error
	// Drop removes the schema with all its contents.
	Drop func(ctx context.Context) error
}

// ErrSchemaExists is the error of Scratch if the schema exists: its contents do not belong to the suite.
var ErrSchemaExists = errors.New("the schema exists already; name a schema that does not exist, because the command drops the schema at the end")
