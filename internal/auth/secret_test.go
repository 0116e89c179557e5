package auth

import (
	"strings"
	"testing"
)

func TestSecretsAreWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		s := NewSecret()
		if !strings.HasPrefix(s, "tly_") || len(s) != 43 || !whole(s) || seen[s] {
			t.Fatalf("%q", s)
		}
		seen[s] = true
		for i := len(SecretPrefix); i < len(s)-1; i++ { // the last character has bits to spare
			if bad := s[:i] + string(s[i]^1) + s[i+1:]; whole(bad) {
				t.Fatalf("%q passes for whole, made of %q", bad, s)
			}
		}
		for _, bad := range []string{s[:len(s)-1], s + "a", strings.ToUpper(s), "tly_", ""} {
			if whole(bad) {
				t.Fatalf("%q passes for whole", bad)
			}
		}
	}
}

func TestIDsSayNothingOfTheSecret(t *testing.T) {
	t.Parallel()
	s := NewSecret()
	id := tokenID(HashSecret(s))
	if !strings.HasPrefix(id, "t_") || len(id) != 14 || strings.Contains(s, id[2:]) {
		t.Errorf("%s of %s", id, s)
	}
}
