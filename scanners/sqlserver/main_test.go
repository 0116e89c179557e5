package sqlserver

import (
	"net"
	"testing"

	"tallyman/internal/testenv"
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
