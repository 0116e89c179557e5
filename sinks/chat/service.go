package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// service is one kind of chat.
type service interface {
	// post makes the call that shows the message.
	post(m *message, now time.Time) (*post, error)
	// read judges the answer to a call whose status was a success.
	read(body []byte) error
}

// message is what is to be shown.
type message struct {
	id       string // of the notice
	title    string // "" = none; one line
	text     string
	priority int // 1 … 5
	resolved bool
	mention  mention
}

// post is a call.
type post struct {
	method string // "" = POST
	url    string
	header map[string]string
	body   []byte
}

// opener reads the URL of a service.
type opener func(*url.URL) (service, error)

// services are those that can be used. What else shoutrrr knows is not compiled in; some of it writes to logs or speaks no HTTP.
func services() map[string]opener {
	return map[string]opener{
		"discord": openDiscord, "generic": openGeneric, "gotify": openGotify, "lark": openLark, "mattermost": openMattermost,
		"ntfy": openNtfy, "slack": openSlack, "teams": openTeams, "telegram": openTelegram, "wecom": openWeCom,
	}
}

// open reads the URL of a chat. No error shows anything of it but the scheme.
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

// errForm says how the URL of a service looks, in place of the library's words, which may show a secret.
func errForm(form string) error {
	return fmt.Errorf("the url has another form than %s; see docs/how-to/channels.md", form)
}

// only refuses parameters that the service does not have, so that none is ignored.
func only(u *url.URL, known ...string) error {
	for _, name := range slices.Sorted(maps.Keys(u.Query())) {
		if !slices.Contains(known, name) {
			if len(known) == 0 {
				return fmt.Errorf("no parameter is known, and the url has %.40q", name)
			}
			return fmt.Errorf("the parameter %.40q is not known: there are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// asJSON encodes what is made of strings and numbers.
func asJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// jsonPost is a call with a JSON body.
func jsonPost(url string, body any) (*post, error) {
	b, err := asJSON(body)
	if err != nil {
		return nil, err
	}
	return &post{url: url, header: map[string]string{"Content-Type": "application/json"}, body: b}, nil
}

// whole is title and text together, for services that have no title.
func (m *message) whole() string {
	if m.title == "" || m.title == m.text {
		return m.text
	}
	return strings.TrimSuffix(m.title+"\n"+m.text, "\n")
}

// body is the text beside a title that is shown by itself.
func (m *message) body() string {
	if m.text == m.title {
		return ""
	}
	return m.text
}

// color is that of a bar beside the message, where there are such.
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

// any2xx is the answer of services that say all by their status.
type any2xx struct{}

func (any2xx) read([]byte) error { return nil }
