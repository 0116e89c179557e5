package oracle

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"

	ora "github.com/sijms/go-ora/v2"

	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// Scratch creates a user with this name, and so a schema. The source of the scratch logs in as that user, with a random
// password. Scratch needs CREATE USER, DROP USER, and the rights that it grants to the user.
func Scratch(ctx context.Context, c Config, name string) (*scanners.Scratch, error) {
	address, err := parseAddress(c.URL)
	if err != nil {
		return nil, err
	}
	maker, err := loginOf(&address)
	if err != nil {
		return nil, err
	}
	address.User, address.Password = name, newPassword()
	owner, err := loginOf(&address)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	u.User = url.UserPassword(address.User, address.Password)
	c.URL = u.String()
	return sqldb.MakeScratch(ctx, scratchSpec(ora.NewConnector(maker), ora.NewConnector(owner), name, address.Password), &scanners.Scratch{Config: c, Schema: name, Bare: true})
}

func scratchSpec(maker, owner driver.Connector, name, password string) sqldb.ScratchSpec {
	return sqldb.ScratchSpec{
		Maker: maker, Owner: owner, Exists: fmt.Sprintf("SELECT COUNT(*) FROM all_users WHERE username = '%s'", strings.ToUpper(name)),
		Make: []string{
			fmt.Sprintf(`CREATE USER %s IDENTIFIED BY "%s"`, name, password),
			"GRANT CREATE SESSION, CREATE TABLE, UNLIMITED TABLESPACE TO " + name,
		},
		Drop: []string{"DROP USER " + name + " CASCADE"},
	}
}

// newPassword returns a password with letters of both cases, digits and a sign, as servers may require. The password
// has at most the 30 characters that older servers accept.
func newPassword() string {
	b := make([]byte, 12)
	_, _ = rand.Read(b) // never fails
	return "Ta1_" + hex.EncodeToString(b)
}
