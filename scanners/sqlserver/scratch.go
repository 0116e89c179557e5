package sqlserver

import (
	"context"
	"database/sql/driver"
	"fmt"

	mssql "github.com/microsoft/go-mssqldb"

	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// dropTables drops the tables of a schema in any order: tables of the suite do not refer to each other.
const dropTables = `DECLARE @drop nvarchar(max) = N'';
SELECT @drop += N'DROP TABLE ' + QUOTENAME(SCHEMA_NAME(schema_id)) + N'.' + QUOTENAME(name) + N'; ' FROM sys.tables WHERE schema_id = SCHEMA_ID(N'%s');
EXEC sp_executesql @drop;`

// Scratch creates a schema with this name in the source's database. Names of its tables need the schema as a prefix,
// because the login decides which schema a bare name is searched in.
func Scratch(ctx context.Context, c Config, name string) (*scanners.Scratch, error) {
	address, err := parseAddress(c.URL)
	if err != nil {
		return nil, err
	}
	login, err := loginOf(&address)
	if err != nil {
		return nil, err
	}
	login.ReadOnlyIntent = false // a readable replica accepts no new tables
	return sqldb.MakeScratch(ctx, scratchSpec(mssql.NewConnectorConfig(login), name), &scanners.Scratch{Config: c, Schema: name})
}

func scratchSpec(connector driver.Connector, name string) sqldb.ScratchSpec {
	return sqldb.ScratchSpec{
		Maker: connector, Owner: connector, Exists: fmt.Sprintf("SELECT count(*) FROM sys.schemas WHERE name = N'%s'", name),
		Make: []string{"CREATE SCHEMA " + name}, Drop: []string{fmt.Sprintf(dropTables, name), "DROP SCHEMA " + name},
	}
}
