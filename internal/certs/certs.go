package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// Options says what a Files is made of.
type Options[T any] struct {
	Names []string                           // of the files; an empty one is not read, and its content is nil
	Parse func(contents [][]byte) (T, error) // in the order of Names
	Every time.Duration                      // the files are looked at no more often
	Told  func(inUse T, err error)           // hears once of each renewal (err is nil), and of each fault while it lasts
}

// Files is what a set of files holds. The contents are compared, not times or names, so that it does not matter how they are
// replaced: written over, renamed, or by a symlink that leads elsewhere.
type Files[T any] struct {
	o Options[T]

	mu     sync.Mutex
	looked time.Time
	tried  [][]byte // contents that were read last, good or not
	good   T
	fault  error // of what was read last
	unread bool  // the fault is that it could not be
}

// Open reads the files, which have to be good.
func Open[T any](o Options[T]) (*Files[T], error) {
	f := &Files[T]{o: o, looked: time.Now()}
	var err error
	if f.tried, err = f.read(); err != nil {
		return nil, err
	}
	f.good, err = o.Parse(f.tried)
	return f, err
}

// Get looks at the files and returns what they hold, or held last. The error is what is wrong with them now.
func (f *Files[T]) Get() (T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.looked) >= f.o.Every {
		f.looked = now
		f.refresh()
	}
	return f.good, f.fault
}

func (f *Files[T]) refresh() {
	contents, err := f.read()
	if err == nil && !f.unread && slices.EqualFunc(contents, f.tried, bytes.Equal) {
		return
	}
	f.unread = err != nil
	var fresh T
	if err == nil {
		f.tried = contents
		fresh, err = f.o.Parse(contents)
	}
	news := err == nil || f.fault == nil || f.fault.Error() != err.Error()
	f.fault = err
	if err == nil {
		f.good = fresh
	}
	if news {
		f.o.Told(f.good, err)
	}
}

func (f *Files[T]) read() ([][]byte, error) {
	contents := make([][]byte, len(f.o.Names))
	for i, name := range f.o.Names {
		if name == "" {
			continue
		}
		var err error
		if contents[i], err = os.ReadFile(name); err != nil {
			return nil, err
		}
	}
	return contents, nil
}

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
