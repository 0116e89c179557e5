package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"tallyman/scanners"
)

// connector bounds a connection attempt, from the first packet to the last of the login.
type connector struct {
	driver.Connector
	timeout time.Duration
}

// Connect is called by database/sql.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	conn, err := c.Connector.Connect(bounded)
	if err != nil && ctx.Err() == nil && errors.Is(bounded.Err(), context.DeadlineExceeded) {
		return nil, &scanners.Error{
			Code: scanners.CodeUnreachable, Transient: true,
			Err: fmt.Errorf("the database did not accept a connection within %s", c.timeout),
		}
	}
	return conn, err
}
