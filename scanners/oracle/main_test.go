package oracle

import (
	"errors"
	"net"
	"strings"
	"testing"

	"tallyman/internal/testenv"
	"tallyman/scanners"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// silent returns the address of a server that accepts connections and never answers.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func wantCode(t *testing.T, err error, code scanners.Code, says string) {
	t.Helper()
	var e *scanners.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(err.Error(), says) {
		t.Errorf("%v, want %s and %q", err, code, says)
	}
}
