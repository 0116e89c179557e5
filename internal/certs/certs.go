package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// Options are the settings of a Files.
type Options[T any] struct {
	Names []string                           // Names of the files. For an empty name no file is read, and the content is nil.
	Parse func(contents [][]byte) (T, error) // Gets the contents in the order of Names.
	Every time.Duration                      // Least time between two readings of the files.
	Told  func(inUse T, err error)           // Called once for each renewal (err is nil) and once for each fault.
}

// Files is the parsed content of a set of files. It compares contents, not times or names. So it does not matter how
// the files are replaced: overwritten, renamed, or through a symlink with a new target.
type Files[T any] struct {
	o Options[T]

	mu     sync.Mutex
	looked time.Time // Time of the last reading.
	tried  [][]byte  // The last contents that could be read, valid or not.
	good   T         // The last valid content.
	fault  error     // The fault of the last reading; nil = none.
	unread bool      // The last reading failed before the content could be parsed.
}

// Open reads the files. Their content must be valid.
func Open[T any](o Options[T]) (*Files[T], error) {
	f := &Files[T]{o: o, looked: time.Now()}
	var err error
	if f.tried, err = f.read(); err != nil {
		return nil, err
	}
	f.good, err = o.Parse(f.tried)
	return f, err
}

// Get reads the files again if Options.Every has passed, and returns their last valid content. The error is the fault
// of the latest reading; the content can be used in spite of it.
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
	lookEvery  = time.Second      // Least time between two readings, however many connections there are.
	watchEvery = 10 * time.Second // Time between two checks, so that a fault is logged before a client connects.
)

// Pair is a server's certificate and its key.
type Pair struct {
	files *Files[*tls.Certificate]
	log   *slog.Logger
}

// OpenPair reads the files, which must be valid. It logs renewals and faults.
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

// ParsePair parses a certificate with its chain, and the key. It refuses a file that ends in the middle of a
// certificate, because a process that writes the file may not have finished.
func ParsePair(cert, key []byte) (tls.Certificate, error) {
	last := cert // The rest after the last whole certificate.
	for block, rest := pem.Decode(cert); block != nil; block, rest = pem.Decode(rest) {
		last = rest
	}
	if bytes.Contains(last, []byte("-----")) {
		return tls.Certificate{}, errors.New("the certificate file ends in the middle of a certificate")
	}
	return tls.X509KeyPair(cert, key)
}

// Config returns the configuration of a server with at least the TLS version. Each new connection uses the current
// pair.
func (p *Pair) Config(least uint16) *tls.Config {
	return &tls.Config{
		MinVersion: least,
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			pair, _ := p.files.Get() // The pair logs its faults, and Check reports them.
			return pair, nil
		},
	}
}

// Check returns the fault of the files, or of the certificate in use, and nil where both are valid.
func (p *Pair) Check() error {
	pair, err := p.files.Get()
	if err != nil {
		return fmt.Errorf("the files are invalid, and the previous certificate stays in use until %s: %w", stamp(pair.Leaf.NotAfter), err)
	}
	return checkDates(pair.Leaf)
}

// checkDates returns an error if the certificate is not valid now.
func checkDates(c *x509.Certificate) error {
	switch now := time.Now(); {
	case now.After(c.NotAfter):
		return fmt.Errorf("the certificate expired at %s", stamp(c.NotAfter))
	case now.Before(c.NotBefore):
		return fmt.Errorf("the certificate is not valid before %s", stamp(c.NotBefore))
	}
	return nil
}

// Watch checks the pair until ctx ends, so that the log has its faults even when no client connects.
func (p *Pair) Watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	said := "" // The last fault of the dates.
	for {
		pair, _ := p.files.Get() // The function told logs faults of the files.
		fault := ""
		if err := checkDates(pair.Leaf); err != nil {
			fault = err.Error()
		}
		if fault != "" && fault != said {
			p.log.ErrorContext(ctx, "Certificate of the API is not valid now. Clients will refuse it.", "error", fault)
		}
		said = fault
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *Pair) told(inUse *tls.Certificate, err error) {
	if err != nil {
		p.log.Warn("Certificate of the API could not be reloaded. The previous certificate stays in use.", "error", err, "until", stamp(inUse.Leaf.NotAfter))
		return
	}
	p.log.Info("Certificate of the API was reloaded.", "until", stamp(inUse.Leaf.NotAfter))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
