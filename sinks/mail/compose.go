package mail

import (
	"crypto/sha256"
	_ "embed" // the built-in templates
	"encoding/hex"
	"fmt"
	netmail "net/mail"
	"strings"
	"unicode"

	gomail "github.com/wneessen/go-mail"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
	"tallyman/sinks/render"
)

// maxSubject is the longest subject, in characters.
const maxSubject = 200

// compose makes the mail of a notice for one subscriber.
func (c *Channel) compose(n *notice.Notice, to delivery.Subscriber, list []*netmail.Address, id string) (*gomail.Msg, error) {
	v := render.NewView(n, to.Language, to)
	subject, err := c.render("subject", c.templates.subject, v)
	if err != nil {
		return nil, err
	}
	text, err := c.render("text", c.templates.text, v)
	if err != nil {
		return nil, err
	}
	html, err := c.render("html", c.templates.html, v)
	if err != nil {
		return nil, err
	}
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	m.FromMailAddress(&c.from)
	m.ToMailAddress(list...)
	m.Subject(render.Shorten(render.OneLine(subject), maxSubject))
	m.SetDate()
	m.SetMessageIDWithValue(id)
	c.setHeaders(m, n, v)
	m.SetBodyString(gomail.TypeTextPlain, text)
	m.AddAlternativeString(gomail.TypeTextHTML, html)
	return m, nil
}

// render makes a part of the mail. If a template of the site fails on this notice, the built-in template is used
// instead, and the log has an error. The subscriber must get the notice all the same.
func (c *Channel) render(what string, p part, v *render.View) (string, error) {
	if p.own != nil {
		text, err := p.own.Execute(v)
		if err == nil {
			return text, nil
		}
		c.log.Error("A mail template failed. The built-in template was used instead.", "template", what, "notice", v.ID, "error", err)
	}
	text, err := p.builtIn.Execute(v)
	if err != nil {
		return "", fmt.Errorf("mail: the %s: %w", what, err)
	}
	return text, nil
}

// setHeaders sets the headers that describe the mail. People sort by importance and thread. Programs see that they must
// not answer.
func (c *Channel) setHeaders(m *gomail.Msg, n *notice.Notice, v *render.View) {
	domain := domainOf(c.from.Address)
	switch {
	case v.Status == string(notice.Resolved):
	case v.Priority >= 5:
		m.SetImportance(gomail.ImportanceUrgent)
	case v.Priority == 4:
		m.SetImportance(gomail.ImportanceHigh)
	case v.Priority == 1:
		m.SetImportance(gomail.ImportanceLow)
	}
	m.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834
	m.SetGenHeader("X-Auto-Response-Suppress", "All")  // Exchange
	m.SetGenHeader("List-Id", fmt.Sprintf("<%s.tallyman.%s>", label(v.Type), domain))
	m.SetGenHeader("X-Tallyman-Notice", v.ID)
	if n.Rule != "" { // the mails of an episode form a thread; its first Message-ID belongs to no mail
		thread := fmt.Sprintf("<%s@%s>", hash(n.Rule, n.Scope, n.Key, n.Episode), domain)
		m.SetGenHeader("References", thread)
		m.SetGenHeader("In-Reply-To", thread)
	}
}

// messageID returns the same id each time this notice is sent to this subscriber.
func messageID(id, subscriber, from string) string {
	return hash(id, subscriber) + "@" + domainOf(from)
}

func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

func domainOf(address string) string {
	return address[strings.LastIndexByte(address, '@')+1:]
}

// label makes a label for a List-Id, which has the characters of a host name.
func label(s string) string {
	out := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		default:
			return '-'
		}
	}, strings.ToLower(s)), "-")
	if out == "" {
		return "notice"
	}
	return out[:min(len(out), 60)]
}

// addresses parses the addresses of a subscriber, and drops duplicates. bad has a message for each text that is no
// address.
func addresses(list []string) (good []*netmail.Address, bad []string) {
	seen := map[string]bool{}
	for _, s := range list {
		a, err := netmail.ParseAddress(s)
		if err != nil || !validAddress(a.Address) {
			bad = append(bad, fmt.Sprintf("%.100q is no mail address", s))
			continue
		}
		if key := strings.ToLower(a.Address); !seen[key] {
			seen[key] = true
			a.Name = render.OneLine(a.Name)
			good = append(good, a)
		}
	}
	return good, bad
}

// validAddress tells whether an address without a name can be part of an SMTP command.
func validAddress(a string) bool {
	at := strings.LastIndexByte(a, '@')
	return at > 0 && at < len(a)-1 && len(a) <= 254 && !strings.ContainsFunc(a, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == '<' || r == '>'
	})
}

// The built-in templates.
var (
	//go:embed templates/subject.txt
	subjectTemplate string
	//go:embed templates/text.txt
	textTemplate string
	//go:embed templates/mail.html
	htmlTemplate string
)

// templates has the templates of the three parts of a mail.
type templates struct{ subject, text, html part }

// part is the template of one part of a mail: the site's own one, and the built-in one.
type part struct {
	own     *render.Template // nil = the site has none
	builtIn *render.Template
}

// loadTemplates reads the template files of the site. An empty name means the built-in template.
func loadTemplates(subject, text, html string) (*templates, error) {
	t := &templates{}
	for _, p := range []struct {
		part                *part
		kind                render.Kind
		what, file, builtIn string
	}{
		{&t.subject, render.Text, "subject", subject, subjectTemplate},
		{&t.text, render.Text, "text", text, textTemplate},
		{&t.html, render.HTML, "html", html, htmlTemplate},
	} {
		var err error
		if p.part.builtIn, err = render.Parse(p.kind, p.what, p.builtIn); err != nil {
			return nil, fmt.Errorf("mail: the built-in %s template: %w", p.what, err)
		}
		if p.file == "" {
			continue
		}
		if p.part.own, err = render.Load(p.kind, p.file); err != nil {
			return nil, fmt.Errorf("mail: the %s template: %w", p.what, err)
		}
	}
	return t, nil
}
