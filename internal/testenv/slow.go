package testenv

import "testing"

// Slow is called first by a test that takes more than some seconds, such as a soak or one that kills processes: make quick leaves it out (go test
// -short), make test does not.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
}
