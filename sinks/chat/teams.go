package chat

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/teams"
)

// teamsChat posts by an incoming webhook of the old kind (webhook.office.com). Those of today, which are workflows, are called through
// the generic service with template=teams.
type teamsChat struct{ to string }

func openTeams(u *url.URL) (service, error) {
	const form = "teams://GROUP@TENANT/ALTID/GROUPOWNER/EXTRAID?host=ORG.webhook.office.com"
	if strings.Contains(u.Scheme, "+") {
		converted, err := (&teams.Service{}).GetConfigURLFromCustom(u)
		if err != nil {
			return nil, errForm("teams+https://ORG.webhook.office.com/webhookb2/… or " + form)
		}
		u = converted
	}
	if err := only(u, "host"); err != nil {
		return nil, err
	}
	config := &teams.Config{}
	if u.User == nil || config.SetURL(u) != nil {
		return nil, errForm(form)
	}
	to := teams.BuildWebhookURL(config.Host, config.Group, config.Tenant, config.AltID, config.GroupOwner, config.ExtraID)
	if to == "" {
		return nil, errForm(form)
	}
	return &teamsChat{to}, nil
}

func (t *teamsChat) post(m *message, _ time.Time) (*post, error) {
	return fitted(t.to, m.text, mostTeams, func(text string) any {
		return map[string]any{
			"@type": "MessageCard", "@context": "http://schema.org/extensions", "summary": firstLine(m), "themeColor": fmt.Sprintf("%06x", m.color()),
			"title": m.title, "text": strings.ReplaceAll(plainMarkdown.Replace(text), "\n", "\n\n"),
		}
	})
}

// read judges an answer: this service tells its errors in words, under the status of a success.
func (t *teamsChat) read(body []byte) error {
	told := strings.TrimSpace(string(body))
	if told == "" || told == "1" {
		return nil
	}
	if strings.Contains(told, "429") {
		return &laterError{after: busyFor, err: fmt.Errorf("the answer is %q", told)}
	}
	return fmt.Errorf("the answer is %q", told)
}
