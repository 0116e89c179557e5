package chat

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTheAddressesOfTheDocumentsAreRead parses each address in docs/how-to/channels.md. It replaces the placeholder words in
// an address by possible values.
func TestTheAddressesOfTheDocumentsAreRead(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/how-to/channels.md")
	if err != nil {
		t.Fatal(err)
	}
	const uuid = "44444444-4444-4444-8444-cccccccccccc"
	parts := strings.NewReplacer(
		"gotify://push.example.com/TOKEN", "gotify://push.example.com/AzyoeNS.D4iJLVa", "GROUP@TENANT", uuid+"@"+uuid, "ALTID", "33333333012222222222333333333344",
		"GROUPOWNER", uuid, "EXTRAID", "V2ESyij_gAljSoUQHvZoZYzlpAoAXExyOl26dlf1xHEx05", "ORG", "contoso",
	)
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile("[`\"]([a-z]+://[^`\" ]+)[`\"]").FindAllStringSubmatch(string(page), -1) {
		address := m[1]
		if strings.HasPrefix(address, "https:") || address == "generic://" {
			continue
		}
		if _, err := New(Options{URL: parts.Replace(address)}); err != nil {
			t.Errorf("%s: %v", address, err)
		}
		kind, _, _ := strings.Cut(address, ":")
		seen[kind] = true
	}
	for kind := range services() {
		if !seen[kind] {
			t.Errorf("docs/how-to/channels.md shows no address of %s", kind)
		}
	}
	for name := range shapes() {
		if !strings.Contains(string(page), "template="+name) {
			t.Errorf("docs/how-to/channels.md shows no template=%s", name)
		}
	}
}
