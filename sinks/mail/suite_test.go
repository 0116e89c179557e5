package mail_test

import (
	"testing"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
	"tallyman/sinks/sinktest"
)

func TestPushSuite(t *testing.T) {
	t.Parallel()
	sinktest.RunPush(t, func(t *testing.T) sinktest.PushFixture {
		t.Helper()
		server := testenv.NewSMTP(t, secured)
		return sinktest.PushFixture{
			Pusher:  newChannel(t, options(server, keepers())),
			Secrets: []string{password},
			Lacks:   []sinktest.Answer{sinktest.Later}, // no reply of SMTP says when to come back
			Answer:  func(_ testing.TB, a sinktest.Answer) { server.Script(answers(a)) },
			Keys: func(t testing.TB) []string {
				t.Helper()
				var ids []string
				for _, m := range server.Mails() {
					ids = append(ids, parse(t, m).Header.Get("Message-Id"))
				}
				return ids
			},
			Codes: map[sinktest.Answer]int{sinktest.Take: 250, sinktest.Refuse: 554, sinktest.Fail: 451},
			Asked: func() int { return server.Count("DATA") },
			Deliveries: func(first int64, n int) []delivery.Delivery {
				out := sinktest.PushDeliveries(first, n)
				for i := range out {
					out[i].Recipients = []string{"role:keeper"}
				}
				return out
			},
		}
	})
}

// answers makes a server that repeats what it got, secrets included.
func answers(a sinktest.Answer) func(testenv.SMTPStep) testenv.SMTPAnswer {
	at := func(command string, answer testenv.SMTPAnswer) func(testenv.SMTPStep) testenv.SMTPAnswer {
		return func(s testenv.SMTPStep) testenv.SMTPAnswer {
			if s.Command == command {
				return answer
			}
			return testenv.SMTPAnswer{}
		}
	}
	echo := "no: " + password + " aHVzaC1odXNoLTQ3MTE="
	switch a {
	case sinktest.Refuse:
		return at("DATA", testenv.SMTPAnswer{Code: 554, Text: echo})
	case sinktest.Fail:
		return at("RCPT", testenv.SMTPAnswer{Code: 451, Text: echo})
	case sinktest.Break:
		return at("RCPT", testenv.SMTPAnswer{Drop: true})
	case sinktest.Lose:
		return at("DATA", testenv.SMTPAnswer{Drop: true, Keep: true})
	case sinktest.Hang:
		return at("DATA", testenv.SMTPAnswer{Hang: true})
	default:
		return at("", testenv.SMTPAnswer{})
	}
}
