package scrub

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tallyman/internal/text"
)

// Hidden stands for a secret.
const Hidden = "***"

// Shortest is the length of the shortest secret that is taken out of texts: shorter ones are parts of words.
const Shortest = 4

// Scrubber takes secrets out of texts.
type Scrubber struct {
	forms    []string // of the secrets, the longest first
	replacer *strings.Replacer
}

// New makes one for the secrets. They are also found as JSON, HTML, URLs and base64 write them, and each word of one that
// has several ("Bearer …") by itself.
func New(secrets ...string) *Scrubber {
	var forms []string
	for _, secret := range secrets {
		for _, s := range append(strings.Fields(secret), secret) {
			forms = append(forms, formsOf(s)...)
		}
	}
	forms = slices.DeleteFunc(forms, func(s string) bool { return len(s) < Shortest || s == "Bearer" || s == "Basic" || s == "Token" })
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	forms = slices.Compact(forms)
	var pairs []string
	for _, s := range forms {
		pairs = append(pairs, s, Hidden)
	}
	return &Scrubber{forms: forms, replacer: strings.NewReplacer(pairs...)}
}

// Text returns the text without the secrets, on one line, and at most limit bytes of it.
func (s *Scrubber) Text(words string, limit int) string {
	return shorten(s.replacer.Replace(line(s.replacer.Replace(words))), limit)
}

// Cut is Text of the beginning of a longer text: what may be the beginning of a secret at its end is left away.
func (s *Scrubber) Cut(words string, limit int) string {
	longest := 0
	if len(s.forms) > 0 {
		longest = len(s.forms[0])
	}
	return s.Text(words[:max(0, len(words)-longest)], limit)
}

func formsOf(s string) []string {
	quoted, err := json.Marshal(s)
	if err != nil || len(quoted) < 2 {
		quoted = []byte(`""`)
	}
	inJSON := string(quoted[1 : len(quoted)-1])
	return []string{
		s, inJSON, strings.ReplaceAll(inJSON, "/", `\/`), html.EscapeString(s), url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s)),
	}
}

// line has every run of spaces and of what cannot be printed as one space, and marks for what no text may have.
func line(s string) string {
	return strings.Join(strings.FieldsFunc(text.Visible(s), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
}

func shorten(s string, limit int) string {
	const more = "…"
	if len(s) <= limit {
		return s
	}
	s = s[:max(0, limit-len(more))]
	for len(s) > 0 {
		if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size > 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s + more
}

// leastToken is the least length of a part of an address that may as well be a word, in bytes.
const leastToken = 8

// Address are an address as a whole and without the server, its password, and what its query says; each as it is written and as it is
// meant.
func Address(address string) []string {
	list := []string{address}
	u, err := url.Parse(address)
	if err != nil {
		return list
	}
	list = append(list, u.String())
	if password, ok := u.User.Password(); ok {
		list = append(list, password, u.User.String())
	}
	if path := u.RequestURI(); len(path) > leastToken {
		list = append(list, path, u.Path)
	}
	for _, values := range u.Query() {
		for _, v := range values {
			if len(v) >= leastToken {
				list = append(list, v, url.QueryEscape(v))
			}
		}
	}
	return list
}

// Tokens are the long parts of a chat's address: services give user, host and path meanings of their own, and the library builds
// other addresses of them.
func Tokens(address string) []string {
	scheme, rest, _ := strings.Cut(address, "://")
	rest, _, _ = strings.Cut(rest, "?") // Address has the query
	var list []string
	for _, whole := range strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(":/@", r) }) {
		for _, part := range append(strings.Split(whole, "-"), whole) {
			isName := part == scheme || strings.Contains(part, ".")
			if plain, err := url.PathUnescape(part); err == nil && len(part) >= leastToken && !isName {
				list = append(list, part, plain)
			}
		}
	}
	return list
}
