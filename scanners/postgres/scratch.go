package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// Scratch creates a schema with this name in the source's database.
func Scratch(ctx context.Context, c Config, name string) (*scanners.Scratch, error) {
	connector := func(address string) (driver.Connector, error) {
		login, err := pgx.ParseConfig(address)
		if err != nil {
			return nil, errors.New("the URL of the source cannot be read")
		}
		login.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // allows several statements in one text
		return stdlib.GetConnector(*login), nil
	}
	maker, err := connector(c.URL)
	if err != nil {
		return nil, err
	}
	if c.URL, err = withSearchPath(c.URL, name); err != nil {
		return nil, err
	}
	owner, err := connector(c.URL)
	if err != nil {
		return nil, err
	}
	return sqldb.MakeScratch(ctx, sqldb.ScratchSpec{
		Maker: maker, Owner: owner, Exists: "SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = '" + name + "'",
		Make: []string{"CREATE SCHEMA " + name}, Drop: []string{"DROP SCHEMA " + name + " CASCADE"},
	}, &scanners.Scratch{Config: c, Schema: name, Bare: true})
}

// withSearchPath makes every session of the address search only the schema.
func withSearchPath(address, schema string) (string, error) {
	if !strings.Contains(address, "://") {
		return address + " search_path=" + schema, nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("the URL of the source cannot be read")
	}
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	return u.String(), nil
}
