package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

const (
	lookEvery  = time.Second      // at most, however many connections are made
	watchEvery = 10 * time.Second // at least, so that a bad pair is known before somebody connects
)

// Pair is a server's certificate and its key.
type Pair struct {
	files *Files[*tls.Certificate]
	log   *slog.Logger
}

// OpenPair reads the files, which have to be good. The logger hears of renewals and of what is wrong with them.
func OpenPair(cert, key string, log *slog.Logger) (*Pair, error) {
	p := &Pair{log: log}
	var err error
	p.files, err = Open(Options[*tls.Certificate]{
		Names: []string{cert, key}, Every: lookEvery, Told: p.told,
		Parse: func(contents [][]byte) (*tls.Certificate, error) {
			pair, err := ParsePair(contents[0], contents[1])
			if err != nil {
				return nil, fmt.Errorf("certificate %s and key %s: %w", cert, key, err)
			}
			return &pair, nil
		},
	})
	return p, err
}

// ParsePair reads a certificate, with those that lead to its authority, and its key. It refuses files that end in the middle.
func ParsePair(cert, key []byte) (tls.Certificate, error) {
	last := cert // what follows the last whole certificate
	for block, rest := pem.Decode(cert); block != nil; block, rest = pem.Decode(rest) {
		last = rest
	}
	if bytes.Contains(last, []byte("-----")) {
		return tls.Certificate{}, errors.New("the file of the certificate ends in the middle of one")
	}
	return tls.X509KeyPair(cert, key)
}

// Config is for a server that speaks at least that version. Each new connection gets the pair of that moment.
func (p *Pair) Config(least uint16) *tls.Config {
	return &tls.Config{
		MinVersion: least,
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			pair, _ := p.files.Get() // the fault is told and reported elsewhere
			return pair, nil
		},
	}
}

// Check tells what is wrong with the files, or with the certificate in use.
func (p *Pair) Check() error {
	pair, err := p.files.Get()
	switch end := pair.Leaf.NotAfter; {
	case err != nil:
		return fmt.Errorf("the pair of before stays in use until %s: %w", stamp(end), err)
	case time.Now().After(end):
		return fmt.Errorf("the certificate has run out at %s", stamp(end))
	case time.Now().Before(pair.Leaf.NotBefore):
		return fmt.Errorf("the certificate counts from %s on", stamp(pair.Leaf.NotBefore))
	}
	return nil
}

// Watch looks at the files until ctx ends, so that the log tells of what is wrong with them although nobody connects.
func (p *Pair) Watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	said := false
	for {
		err := p.Check()
		if _, fault := p.files.Get(); err != nil && fault == nil && !said { // its dates: a fault of the files was told
			p.log.ErrorContext(ctx, "clients will refuse the certificate of the API", "error", err)
		}
		said = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *Pair) told(inUse *tls.Certificate, err error) {
	if err != nil {
		p.log.Warn("the certificate of the API cannot be read anew; the one of before stays in use", "error", err, "until", stamp(inUse.Leaf.NotAfter))
		return
	}
	p.log.Info("the certificate of the API was read anew", "until", stamp(inUse.Leaf.NotAfter))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
