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

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// certLife is how long the certificates of tests are valid.
const certLife = 24 * time.Hour

// authSession is an smtpSession that authenticates by PLAIN.
type authSession struct {
	*smtpSession
	known bool
}

// AuthMechanisms offers PLAIN.
func (a *authSession) AuthMechanisms() []string { return []string{sasl.Plain} }

// Auth checks user and password.
func (a *authSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if err := a.server.step(a.conn, SMTPStep{Command: "AUTH"}); err != nil {
			return err
		}
		if o := a.server.options; user != o.User || password != o.Password {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "wrong password " + password}
		}
		a.known = true
		return nil
	}), nil
}

// Mail begins a mail of a client that is known.
func (a *authSession) Mail(from string, o *smtp.MailOptions) error {
	if !a.known {
		return smtp.ErrAuthRequired
	}
	return a.smtpSession.Mail(from, o)
}

// selfSigned makes a certificate for loopback addresses, and a file with it.
func selfSigned(t testing.TB) (config *tls.Config, caFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "mail.test"},
		NotBefore: now.Add(-certLife), NotAfter: now.Add(certLife), BasicConstraintsValid: true, IsCA: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, caFile
}
