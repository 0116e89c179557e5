package mysql

import (
	"context"
	"net/url"

	"github.com/go-sql-driver/mysql"

	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// Scratch creates a database with this name on the source's server.
func Scratch(ctx context.Context, c Config, name string) (*scanners.Scratch, error) {
	address, err := parseURL(c.URL)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, urlError(err)
	}
	maker, err := mysql.NewConnector(address.driver)
	if err != nil {
		return nil, urlError(err)
	}
	login := address.driver.Clone()
	login.DBName, login.MultiStatements = name, true
	owner, err := mysql.NewConnector(login)
	if err != nil {
		return nil, urlError(err)
	}
	u.Path = "/" + name
	c.URL = u.String()
	return sqldb.MakeScratch(ctx, sqldb.ScratchSpec{
		Maker: maker, Owner: owner, Exists: "SELECT count(*) FROM information_schema.schemata WHERE schema_name = '" + name + "'",
		Make: []string{"CREATE DATABASE " + name + " CHARACTER SET utf8mb4"}, Drop: []string{"DROP DATABASE " + name},
	}, &scanners.Scratch{Config: c, Schema: name, Bare: true})
}
