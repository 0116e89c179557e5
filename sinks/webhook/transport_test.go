package webhook_test

import (
	"os"
	"path/filepath"
	"testing"

	"tallyman/internal/testenv"
)

// caFile is a file with the certificate of a server of httptest, for those who connect to it.
func caFile(t testing.TB, server *testenv.HTTPServer) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "ca.pem")
	write(t, name, testenv.PEM("CERTIFICATE", server.Certificate().Raw))
	return name
}

func write(t testing.TB, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
