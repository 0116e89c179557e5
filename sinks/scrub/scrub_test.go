package scrub_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"tallyman/internal/testenv"
	"tallyman/sinks/scrub"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestText(t *testing.T) {
	t.Parallel()
	s := scrub.New("Bearer s3cret/+key", "https://u:pa ss@host/T0/x?token=a b", "abc", "")
	for text, want := range map[string]string{
		"":                                  "",
		"plain abc":                         "plain abc",
		"it is s3cret/+key!":                "it is ***!",
		"Authorization: Bearer s3cret/+key": "Authorization: ***",
		`"s3cret\/+key"`:                    `"***"`,
		"?k=s3cret%2F%2Bkey&x":              "?k=***&x",
		"two\r\n lines\tand \x00 more":      "two lines and [U+0000] more",
		"bad \xff utf8":                     "bad \uFFFD utf8",
		"line s3cret/\u200b+key":            "line s3cret/ +key",
	} {
		if got := s.Text(text, 200); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := s.Text(strings.Repeat("é", 10), 10); got != "ééé…" {
		t.Errorf("cut to %q", got)
	}
	if got := s.Cut("the end is s3cre", 200); strings.Contains(got, "s3c") {
		t.Errorf("the beginning of a secret: %q", got)
	}
	if got := scrub.New().Cut("all of it", 200); got != "all of it" {
		t.Errorf("without secrets: %q", got)
	}
}

// Wherever the secret stands, the text never shows it. The text is short, one line, and UTF-8.
func TestNeverShown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z0-9/+&"<' =-]{8,40}`).Filter(func(s string) bool { return s == strings.TrimSpace(s) }).Draw(t, "secret")
		around := rapid.StringOf(rapid.RuneFrom([]rune("ab \n\x00é\u2028"))) // nothing that completes another secret
		limit := rapid.IntRange(3, 300).Draw(t, "limit")
		got := scrub.New(secret).Text(around.Draw(t, "before")+secret+around.Draw(t, "after"), limit)
		if strings.Contains(got, secret) || len(got) > limit || !utf8.ValidString(got) || strings.ContainsAny(got, "\r\n\x00\u2028") {
			t.Fatalf("%q", got)
		}
	})
}
