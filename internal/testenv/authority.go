package testenv

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority is a certificate authority for a test.
type Authority struct {
	t    testing.TB
	Cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes an Authority.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	a := &Authority{t: t, key: newKey(t)}
	a.Cert = a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, a.key)
	return a
}

// Issue returns a certificate for the name that is valid for an hour, and its key.
func (a *Authority) Issue(name string) (cert, key []byte) {
	a.t.Helper()
	return a.IssueUntil(name, time.Now().Add(time.Hour))
}

// IssueUntil is Issue with the end of the certificate's validity.
func (a *Authority) IssueUntil(name string, end time.Time) (cert, key []byte) {
	a.t.Helper()
	k := newKey(a.t)
	c := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotAfter: end, DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, k)
	coded, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	return PEM("CERTIFICATE", c.Raw), PEM("EC PRIVATE KEY", coded)
}

// Pair returns a certificate for the name with its key.
func (a *Authority) Pair(name string) tls.Certificate {
	a.t.Helper()
	pair, err := tls.X509KeyPair(a.Issue(name))
	if err != nil {
		a.t.Fatal(err)
	}
	return pair
}

// Pool returns a pool that trusts the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.Cert)
	return pool
}

// File returns a file with the authority's certificate.
func (a *Authority) File() string {
	a.t.Helper()
	name := filepath.Join(a.t.TempDir(), "ca.pem")
	if err := os.WriteFile(name, PEM("CERTIFICATE", a.Cert.Raw), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return name
}

func (a *Authority) sign(c *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	a.t.Helper()
	var err error
	if c.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		a.t.Fatal(err)
	}
	if c.NotAfter.IsZero() {
		c.NotAfter = time.Now().Add(time.Hour)
	}
	c.NotBefore = c.NotAfter.Add(-3 * 24 * time.Hour)
	if now := time.Now(); c.NotBefore.After(now) {
		c.NotBefore = now.Add(-time.Hour)
	}
	parent := a.Cert
	if parent == nil {
		parent = c
	}
	raw, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	signed, err := x509.ParseCertificate(raw)
	if err != nil {
		a.t.Fatal(err)
	}
	return signed
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// PEM encodes a block for a file.
func PEM(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}
