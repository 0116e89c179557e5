package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf16"

	"tallyman/sinks/render"
)

// service is one kind of chat.
type service interface {
	// post makes the call that shows the message.
	post(m *message, now time.Time) (*post, error)
	// read judges the answer to a call that had a success status.
	read(body []byte) error
}

// message is the content that a chat shows.
type message struct {
	id       string // the id of the notice, and of the recipient if each has a message
	title    string // one line; "" = none
	text     string
	priority int // 1 … 5
	resolved bool
	mention  mention
}

// post is a call to a service.
type post struct {
	method string // "" = POST
	url    string
	header map[string]string
	body   []byte
}

// opener parses the URL of a service.
type opener func(*url.URL) (service, error)

// services lists the services that can be used. Others of shoutrrr are not compiled in, because some write to logs or
// do not use HTTP.
func services() map[string]opener {
	return map[string]opener{
		"discord": openDiscord, "generic": openGeneric, "gotify": openGotify, "lark": openLark, "mattermost": openMattermost,
		"ntfy": openNtfy, "slack": openSlack, "teams": openTeams, "telegram": openTelegram, "wecom": openWeCom,
	}
}

// open parses the URL of a chat. Its errors show the scheme, the template and names of parameters and headers. Apart
// from the template, they show no value.
func open(raw string) (service, *url.URL, error) {
	if strings.ContainsAny(raw, " \t\r\n") {
		return nil, nil, errors.New("chat: the url is one URL, without spaces: a sink posts to one chat")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, nil, errors.New("chat: the url cannot be read")
	}
	kind, _, _ := strings.Cut(u.Scheme, "+")
	read, ok := services()[kind]
	if !ok {
		return nil, nil, fmt.Errorf("chat: there is no service %.20q: it is one of %s", kind, strings.Join(slices.Sorted(maps.Keys(services())), ", "))
	}
	s, err := read(u)
	if err != nil {
		return nil, nil, fmt.Errorf("chat: %s: %w", kind, err)
	}
	return s, u, nil
}

// errForm is an error with the right form of a URL. The error of the library is not used, because it may show a secret.
func errForm(form string) error {
	return fmt.Errorf("the url must have the form %s; see docs/how-to/channels.md", form)
}

// only refuses parameters that the service does not have, so that no parameter is ignored.
func only(u *url.URL, known ...string) error {
	for _, name := range slices.Sorted(maps.Keys(u.Query())) {
		if !slices.Contains(known, name) {
			if len(known) == 0 {
				return fmt.Errorf("the service takes no parameters, but the url has %.40q", name)
			}
			return fmt.Errorf("the service takes no parameter %.40q; it takes %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// asJSON encodes a value without escaping HTML.
func asJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// jsonPost makes a call with a JSON body.
func jsonPost(url string, body any) (*post, error) {
	b, err := asJSON(body)
	if err != nil {
		return nil, err
	}
	return &post{url: url, header: map[string]string{"Content-Type": "application/json"}, body: b}, nil
}

// fit cuts the text to the longest one that fits. fits must measure the message as it is sent, with its title, its
// mentions and its escapes, in the unit of the service.
func fit(text string, fits func(text string) bool) string {
	if fits(text) {
		return text
	}
	return render.ShortenBytes(text, sort.Search(len(text), func(n int) bool { return !fits(render.ShortenBytes(text, n+1)) }))
}

// units returns the length of a text in UTF-16. Services that say "characters" do not say whether a character beyond
// U+FFFF counts as one or as two, so it counts as two.
func units(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// headed returns the text below a title in bold. Either may be empty.
func headed(bold func(title string) string, title, text string) string {
	if title == "" {
		return text
	}
	return strings.TrimSuffix(bold(title)+"\n"+text, "\n")
}

// whole returns title and text together, for services without titles.
func (m *message) whole() string {
	if m.title == "" || m.title == m.text {
		return m.text
	}
	return strings.TrimSuffix(m.title+"\n"+m.text, "\n")
}

// body returns the text for a message that has its title. body is empty if it would only repeat the title.
func (m *message) body() string {
	if m.text == m.title {
		return ""
	}
	return m.text
}

// color returns the color of the bar beside the message, for services that have one.
func (m *message) color() int {
	switch {
	case m.resolved:
		return 0x2e7d32
	case m.priority >= 4:
		return 0xc62828
	default:
		return 0x1565c0
	}
}

func trim(s string) string { return strings.Trim(s, "\n ") }

// any2xx accepts every answer with a 2xx status. any2xx is for services whose status says everything.
type any2xx struct{}

func (any2xx) read([]byte) error { return nil }
