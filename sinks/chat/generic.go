package chat

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/specialized/generic"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
)

// genericChat calls any HTTP server. genericChat sends the text, or the JSON of shoutrrr (template=json).
type genericChat struct {
	any2xx

	library *generic.Service
	config  *generic.Config
	header  map[string]string
}

// shapes lists the services whose messages the generic service can make, by the name of the template.
func shapes() map[string]shape {
	return map[string]shape{"dingtalk": dingTalkShape{}, "lark": larkShape{}, "teams": teamsShape{}, "wecom": weComShape{}}
}

// openGeneric reads generic://HOST/PATH?…, or generic+https://… with the whole address of a webhook. Parameters of the
// query that the library does not know belong to the address.
func openGeneric(u *url.URL) (service, error) {
	const form = "generic://HOST/PATH?template=…"
	library := &generic.Service{}
	if strings.Contains(u.Scheme, "+") {
		converted, err := library.GetConfigURLFromCustom(u)
		if err != nil {
			return nil, errForm("generic+https://HOST/PATH")
		}
		u = converted
	}
	if u.Host == "" || u.Query().Has("title") {
		return nil, errForm(form)
	}
	if err := library.Initialize(u, nil); err != nil {
		return nil, errForm(form)
	}
	config := library.Config
	if !slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, config.RequestMethod) {
		return nil, errors.New("the method is POST, PUT or PATCH")
	}
	header, err := genericHeader(config)
	if err != nil {
		return nil, err
	}
	if s, ok := shapes()[strings.ToLower(config.Template)]; ok {
		return openShaped(config, s, header)
	}
	if !slices.Contains([]string{"", "json", "JSON"}, config.Template) {
		return nil, fmt.Errorf("there is no template %.20q: there are json, dingtalk, lark, teams and wecom", config.Template)
	}
	return &genericChat{library: library, config: config, header: header}, nil
}

// genericHeader returns the headers of the URL: its parameters that begin with @.
func genericHeader(config *generic.Config) (map[string]string, error) {
	header := map[string]string{}
	for name, values := range config.GetURL().Query() {
		if !strings.HasPrefix(name, "@") {
			continue
		}
		name = http.CanonicalHeaderKey(name[1:])
		if strings.ContainsAny(name+values[0], "\r\n\x00") || strings.ContainsAny(name, " :") {
			return nil, fmt.Errorf("%.40q is no header", name)
		}
		header[name] = values[0]
	}
	return header, nil
}

func (g *genericChat) post(m *message, _ time.Time) (*post, error) {
	params := types.Params{g.config.MessageKey: m.text}
	if m.title != "" {
		params[g.config.TitleKey] = m.title
	}
	contentType := g.config.ContentType
	if g.config.Template == "" {
		params[g.config.MessageKey], contentType = m.whole(), "text/plain; charset=utf-8"
	}
	payload, err := g.library.GetPayload(g.config, params)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(payload)
	if err != nil {
		return nil, err
	}
	p := &post{method: g.config.RequestMethod, url: g.config.WebhookURL().String(), body: body, header: map[string]string{
		"Content-Type": contentType, "Idempotency-Key": m.id,
	}}
	maps.Copy(p.header, g.header)
	return p, nil
}

// shapedChat is a generic chat that makes the messages of a service.
type shapedChat struct {
	shape

	to     *url.URL
	secret string // signs the messages
	header map[string]string
}

func (s *shapedChat) mentions(phone bool) bool {
	m, ok := s.shape.(mentioner)
	return ok && m.mentions(phone)
}

// openShaped opens a shapedChat. openShaped removes the parameter `secret` from the address, since the secret signs the
// messages and must not be sent.
func openShaped(config *generic.Config, s shape, header map[string]string) (service, error) {
	to := config.WebhookURL()
	query := to.Query()
	secret := query.Get("secret")
	query.Del("secret")
	to.RawQuery = query.Encode()
	return &shapedChat{shape: s, to: to, secret: secret, header: header}, nil
}

func (s *shapedChat) post(m *message, now time.Time) (*post, error) {
	p, err := s.shaped(m, s.to, s.secret, now)
	if err != nil {
		return nil, err
	}
	maps.Copy(p.header, s.header)
	return p, nil
}
