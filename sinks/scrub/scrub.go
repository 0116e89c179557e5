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

// Shortest is the length of the shortest secret that is replaced. Shorter ones are likely to be parts of words.
const Shortest = 4

// Scrubber takes secrets out of texts.
type Scrubber struct {
	forms    []string // every form of every secret, the longest first
	replacer *strings.Replacer
}

// New makes a Scrubber for the secrets. New also finds them in the forms of JSON, HTML, URLs and base64. If a secret
// has several words, such as "Bearer …", it also finds each word by itself.
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

// Text returns the text without the secrets, on one line, cut to limit bytes.
func (s *Scrubber) Text(words string, limit int) string {
	return shorten(s.replacer.Replace(line(s.replacer.Replace(words))), limit)
}

// Cut is Text for a text whose end is missing. The cut may have left the beginning of a secret at the end, which no
// longer matches the whole secret. Cut therefore drops as many bytes as the longest secret has.
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

// line replaces every run of spaces and unprintable characters by one space, and puts marks such as [U+0007] in the
// place of forbidden characters.
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

// leastToken is the length from which a part of an address counts as a secret. Shorter parts may be ordinary words.
const leastToken = 8

// Address returns the secret texts of an address: the whole address, the address without its server, its password, and
// the long values of its query. Each is there as it is written and unescaped.
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

// Tokens returns the long parts of a chat's address. Services give user, host and path their own meanings, and the
// library builds other addresses from them, so every part can be a secret.
func Tokens(address string) []string {
	scheme, rest, _ := strings.Cut(address, "://")
	rest, _, _ = strings.Cut(rest, "?") // Address returns the values of the query
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
