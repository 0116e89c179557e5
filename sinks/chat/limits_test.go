package chat

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
)

// limit is what a service takes: the longest value of one part of a message.
type limit struct {
	part    string // what the test says of it
	most    int
	measure func(body []byte) int
}

// limits are those of the services' own pages, for each example of the services that has any.
func limits() map[string][]limit {
	whole := func(most int) []limit {
		return []limit{{"bytes", most, func(body []byte) int { return len(body) }}}
	}
	slack := []limit{{"characters", 40_000, func(body []byte) int { return inUTF16(partOf(body, "text")) }}}
	lark, weCom := whole(20_000), []limit{{"bytes of content", 2048, func(body []byte) int { return len(partOf(body, "text", "content")) }}}
	return map[string][]limit{
		"slack webhook": slack, "slack bot": slack, "lark": lark, "lark by generic": lark, "wecom": weCom, "wecom by generic": weCom,
		"dingtalk": whole(20_000), "teams connector": whole(28_000), "teams workflow": whole(28_000), "ntfy": whole(4096),
		"telegram": {{"characters", 4096, func(body []byte) int {
			return inUTF16(html.UnescapeString(strings.NewReplacer("<b>", "", "</b>", "").Replace(partOf(body, "text"))))
		}}},
		"mattermost": {{"characters", 16_383, func(body []byte) int { return utf8.RuneCountInString(partOf(body, "text")) }}},
		"discord": {
			{"characters of content", 2000, func(body []byte) int { return inUTF16(partOf(body, "content")) }},
			{"characters of the title", 256, func(body []byte) int { return inUTF16(partOf(body, "embeds", "title")) }},
			{"characters of the description", 4096, func(body []byte) int { return inUTF16(partOf(body, "embeds", "description")) }},
			{"people", 100, func(body []byte) int { return strings.Count(partOf(body, "content"), "<@") }},
		},
	}
}

func inUTF16(s string) int { return len(utf16.Encode([]rune(s))) }

// partOf returns the text at a path in JSON; "" = none. A list stands for its first element.
func partOf(body []byte, path ...string) string {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return ""
	}
	for _, name := range path {
		if list, ok := v.([]any); ok {
			v = list[0]
		}
		object, _ := v.(map[string]any)
		v = object[name]
	}
	text, _ := v.(string)
	return text
}

// TestNoMessageExceedsTheLimitsOfItsService makes messages of long texts, long titles and many mentions, in characters
// that an encoding or an escape makes longer.
func TestNoMessageExceedsTheLimitsOfItsService(t *testing.T) {
	t.Parallel()
	long := func(most int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			part := rapid.StringOfN(rapid.RuneFrom([]rune("ab 库👷&<>\"'@[]\\\n_*`")), 1, 6, -1).Draw(t, "part")
			text := strings.Repeat(part, rapid.IntRange(0, most/len(part)).Draw(t, "times"))
			return text + rapid.StringN(0, 9, -1).Draw(t, "end")
		})
	}
	ids := rapid.SliceOfN(rapid.StringMatching("[A-Za-z0-9]{1,100}"), 0, 300)
	all := examples()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(slices.Sorted(func(yield func(string) bool) {
			for name := range limits() {
				if !yield(name) {
					return
				}
			}
		})).Draw(t, "service")
		o := Options{URL: all[name].url, Title: true}
		var recipients []delivery.Subscriber
		if s, _, err := open(o.URL); err != nil {
			t.Fatal(err)
		} else if m, ok := s.(mentioner); ok && m.mentions(false) {
			o.Mention = "chat"
			for i, id := range ids.Draw(t, "ids") {
				recipients = append(recipients, delivery.Subscriber{ID: fmt.Sprint("user:", i), Channels: map[string]string{"chat": id}})
			}
		}
		c, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		n := &notice.Notice{ID: "n_1", Type: "T", Title: long(2000).Draw(t, "title"), Body: long(20_000).Draw(t, "body"), Priority: 3}
		p, err := c.post(n, recipients)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range limits()[name] {
			if got := l.measure(p.body); got > l.most {
				t.Errorf("%s: %d %s, the service takes %d", name, got, l.part, l.most)
			}
		}
	})
}

// openBracket is an opening bracket that Markdown would take as the begin of a link: no odd number of backslashes
// stands before it.
var openBracket = regexp.MustCompile(`(^|[^\\])(\\\\)*\[`)

// shownTexts matches the texts of a message that its chat reads as Markdown.
var shownTexts = regexp.MustCompile(`"(?:title|description|text)":("(?:[^"\\]|\\.)*")`)

func TestNoTextMakesALink(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"discord", "mattermost", "teams connector", "teams workflow"} {
		c, err := New(Options{URL: examples()[name].url, Title: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			"[Stock](https://evil.example)", `\[Stock\](https://evil.example)`, `\\[Stock](https://evil.example)`, "![x](https://evil.example/x.png)",
			"[x]: https://evil.example",
		} {
			p, err := c.post(&notice.Notice{ID: "n_1", Type: "T", Title: text, Body: "Look: " + text, Priority: 3}, nil)
			if err != nil {
				t.Fatal(err)
			}
			texts := shownTexts.FindAllSubmatch(p.body, -1)
			if len(texts) == 0 {
				t.Fatalf("%s has no text: %s", name, p.body)
			}
			for _, m := range texts {
				var shown string
				if err := json.Unmarshal(m[1], &shown); err != nil {
					t.Fatal(err)
				}
				if openBracket.MatchString(shown) {
					t.Errorf("%s shows %s as %s", name, text, shown)
				}
			}
		}
	}
}
