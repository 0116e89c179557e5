package mysql

import (
	"context"
	_ "embed"
	"strings"

	"tallyman/scanners"
)

//go:embed dangers.sql
var dangersSQL string

// rights says what a right on all databases is good for.
var rights = map[string]string{
	"FILE": "reads and writes files of the server", "SUPER": "changes the server", "SHUTDOWN": "stops the server", "RELOAD": "changes the server",
	"EXECUTE": "calls every stored function", "CREATE ROUTINE": "makes functions", "CONNECTION ADMIN": "ends connections of others", "SET USER": "makes functions in the name of others",
}

// Dangers returns the rights that let the user act on the server, and the stored functions that it may call and that do not say of themselves that they only read.
func (s *Source) Dangers(ctx context.Context) ([]scanners.Danger, error) {
	var dangers []scanners.Danger
	err := s.look(ctx, func(ctx context.Context, t *transaction) error {
		found, err := t.texts(ctx, dangersSQL)
		for _, values := range found {
			database, name, access, user := values[0], values[1], values[2], values[3]
			if database == "" {
				dangers = append(dangers, scanners.Danger{Name: name, Does: rights[name], Revoke: "REVOKE " + name + " ON *.* FROM " + user + ";"})
				continue
			}
			does := "does not say of itself that it only reads"
			if access == "MODIFIES SQL DATA" {
				does = "says of itself that it MODIFIES SQL DATA"
			}
			account, host, _ := strings.Cut(user, "@")
			dangers = append(dangers, scanners.Danger{
				Name: database + "." + name, Does: does,
				Revoke: "REVOKE EXECUTE ON FUNCTION `" + database + "`.`" + name + "` FROM '" + account + "'@'" + host + "';",
			})
		}
		return err
	})
	return dangers, err
}

var _ scanners.Auditor = (*Source)(nil)
