package api

import (
	"crypto/tls"

	"tallyman/internal/certs"
)

// TLS is what the server shows to those who connect.
type TLS struct {
	Pair  *certs.Pair
	Least uint16 // version; tls.VersionTLS12 where 0
}

func (t *TLS) config() *tls.Config { return t.Pair.Config(max(t.Least, tls.VersionTLS12)) }
