package e2e

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/internal/cli"
)

// TestGeneratedClientsMakeARoundTrip generates a Go and a TypeScript client of the document that a node serves, compiles both strictly,
// and has programs use them against the node: they know nothing of it but the document.
func TestGeneratedClientsMakeARoundTrip(t *testing.T) {
	t.Parallel()
	c := newWork(t)
	token := c.admin()
	c.configure("auth: {mode: none}", "auth: {mode: token}")
	n := c.start(0)
	dir := t.TempDir()
	document := filepath.Join(dir, "openapi.json")
	if err := os.WriteFile(document, n.document(token), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("../../scripts/clients.sh", "build", document, dir).CombinedOutput(); err != nil {
		t.Fatalf("clients of the document: %v\n%s", err, out)
	}
	for name, command := range map[string][]string{
		"go": {filepath.Join(dir, "go", "roundtrip")}, "typescript": {"node", filepath.Join(dir, "typescript", "out", "roundtrip.js")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
			cmd.Env = append(os.Environ(), "TALLYMAN_URL="+n.base, "TALLYMAN_TOKEN="+token)
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != name+" client: all is well\n" {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// admin makes a token for everything, in the ledger.
func (c *cluster) admin() string {
	c.t.Helper()
	var out, errs bytes.Buffer
	args := []string{"tokens", "create", "--config", filepath.Join(c.dir, configFile), "--subject", "user:admin", "--access", "admin"}
	if code := cli.Run(c.t.Context(), cli.Process{Args: args, In: strings.NewReader(""), Out: &out, Err: &errs}, cli.Default()); code != 0 {
		c.t.Fatalf("tallyman %s: %d %s", strings.Join(args, " "), code, &errs)
	}
	return strings.TrimSpace(out.String())
}

// document is the OpenAPI document that the node serves.
func (n *node) document(token string) []byte {
	n.t.Helper()
	r, err := http.NewRequestWithContext(n.t.Context(), http.MethodGet, n.base+"/openapi.json", http.NoBody)
	if err != nil {
		n.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		n.t.Fatal(err)
	}
	defer resp.Body.Close()
	document, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		n.t.Fatalf("%d %v %s", resp.StatusCode, err, document)
	}
	return document
}
