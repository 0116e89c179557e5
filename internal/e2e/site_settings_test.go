//go:build site

package e2e

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
)

// withNodes puts the addresses of the nodes in the place of 127.0.0.1:8080. A line of a second node is a copy of the
// first with another number.
func withNodes(t *testing.T, settings string, nodes []*node) string {
	t.Helper()
	const address = "127.0.0.1:8080"
	if !strings.Contains(settings, address) {
		t.Fatalf("the settings do not have %q:\n%s", address, settings)
	}
	var out strings.Builder
	for line := range strings.Lines(settings) {
		own := nodes
		if !strings.Contains(line, address) {
			own = nodes[:1]
		}
		for i, n := range own {
			out.WriteString(strings.NewReplacer(address, n.address(), "server node1 ", fmt.Sprintf("server node%d ", i+1)).Replace(line))
		}
	}
	return out.String()
}

// documented is the block of docs/how-to/proxy.md in the language.
func documented(t *testing.T, language string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/how-to/proxy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "\n```"+language+"\n")
	block, _, ended := strings.Cut(block, "\n```\n")
	if !ended {
		t.Fatalf("docs/how-to/proxy.md has no block in %s", language)
	}
	return block + "\n"
}

func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return port
}
