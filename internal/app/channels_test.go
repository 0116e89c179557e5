package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/config"
	"tallyman/internal/testenv"
	"tallyman/sinks"
	"tallyman/sinks/chat"
	"tallyman/sinks/inbox"
	"tallyman/sinks/mail"
	"tallyman/sinks/stdout"
)

// channel adds a push channel.
func (s *site) channel(name string, sink sinks.ChannelSettings) {
	s.t.Helper()
	if s.cfg.Sinks == nil {
		s.cfg.Sinks = config.Sinks{"inbox": inbox.NewSettings()}
	}
	sink.Limits().Breaker = sinks.Breaker{Failures: 50, Open: time.Second}
	s.cfg.Sinks[name] = sink
}

// A finding and its end are mailed to those in the address book, each in their language, and told to a chat and on the
// standard output; on both ledgers.
func TestMailChatAndStdout(t *testing.T) {
	t.Parallel()
	for name, prepare := range environments {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, post, chatServer := newSite(t), testenv.NewSMTP(t, testenv.SMTPOptions{}), testenv.NewHTTPServer(t)
			chatServer.Always(testenv.ReplyStatus(http.StatusOK, `{"errcode":0}`))
			out := &testenv.Output{}
			s.stdout = out
			byMail, shift, look := mail.NewSettings(), chat.NewSettings(), stdout.NewSettings()
			byMail.Host, byMail.Port, byMail.TLS = mail.Host(post.Host), post.Port, mail.None
			byMail.From = mail.Address{Name: "Tallyman", Address: "tally@wms.example.com"}
			shift.URL.Secret = config.NewSecret("generic://" + chatServer.Listener.Addr().String() + "/robot/send?access_token=swordfish&template=dingtalk&disabletls=yes")
			shift.AllowPrivate, look.Format = true, stdout.Text
			s.channel("mails", byMail)
			s.channel("shift", shift)
			s.channel("look", look)
			wms := prepare(s)
			s.cfg.Subscriptions.Seed = append(s.cfg.Subscriptions.Seed,
				config.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "role:keeper"},
				config.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:ann"},
				config.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:nobody"},
			)
			n := s.start("one")
			for id, entry := range map[string]string{
				"role:keeper": `{"mail":["early@example.com","late@example.com"]}`,
				"user:ann":    `{"name":"Ann Lee","language":"zh","mail":["Ann Lee <ann@example.com>"]}`,
			} {
				if code, body := n.do(http.MethodPut, "/api/v1/subscribers/"+id, "application/json", entry); code != http.StatusCreated {
					t.Fatalf("%s: %d %s", id, code, body)
				}
			}
			n.stop()
			rule := pushRule("{sink: mails}, {sink: shift, strategy: important}, {sink: look}")
			s.rule("stock.yaml", strings.Replace(rule, `title: "Bin {{ .bin_code }} is at {{ .qty }}"`, `title: {en: "Bin {{ .bin_code }} is at {{ .qty }}", zh: "货位 {{ .bin_code }}"}`, 1))
			wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
			n = s.start("two")
			testenv.Eventually(t, func() bool { return len(post.Mails()) == 2 && chatServer.Asked() == 1 && out.String() != "" }, 15*time.Second)
			mails := post.Mails()
			slices.SortFunc(mails, func(a, b testenv.Mail) int { return strings.Compare(a.To[0], b.To[0]) })
			if !slices.Equal(mails[0].To, []string{"ann@example.com"}) || !strings.Contains(mails[0].Data, "=E8=B4=A7=E4=BD=8D_A-01") {
				t.Errorf("Ann got, to %s:\n%s", mails[0].To, mails[0].Data)
			}
			if !slices.Equal(mails[1].To, []string{"early@example.com", "late@example.com"}) || !strings.Contains(mails[1].Data, "Bin A-01 is at -3") {
				t.Errorf("the keepers got, to %s:\n%s", mails[1].To, mails[1].Data)
			}
			if body := string(chatServer.Requests()[0].Body); body != `{"msgtype":"text","text":{"content":"Bin A-01 is at -3\nS1 in A-01 went to -3."}}` {
				t.Errorf("the chat got %s", body)
			}
			if text := out.String(); !strings.Contains(text, "firing  !!!  Bin A-01 is at -3") {
				t.Errorf("the standard output got %s", text)
			}
			wms.exec(`UPDATE bin_stock SET qty = 20 WHERE bin_code = 'A-01'`)
			testenv.Eventually(t, func() bool {
				return len(post.Mails()) == 4 && chatServer.Asked() == 2 && strings.Contains(out.String(), "resolved")
			}, 15*time.Second)
			n.stop()
		})
	}
}
