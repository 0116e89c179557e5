package chat

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
	"tallyman/internal/text"
	"tallyman/internal/text/texttest"
	"tallyman/sinks/sinktest"
)

// TestPushSuite runs the suite for a service whose host is in the URL, and for a service that answers with a success
// status even for errors.
func TestPushSuite(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		url    func(host string) string
		keyed  bool
		taken  string
		refuse testenv.HTTPReply
		code   int // of refuse
	}{
		"generic": {
			url: func(h string) string {
				return "generic://" + h + "/in/s3cr3t-p4th?disabletls=yes&template=json&@X-Token=s3cr3t-h34d3r"
			},
			keyed: true, refuse: testenv.ReplyEcho(http.StatusUnprocessableEntity), code: 422,
		},
		"wecom": {
			url: func(h string) string {
				return "generic://" + h + "/cgi-bin/webhook/send?disabletls=yes&template=wecom&key=s3cr3t-k3y"
			},
			taken: `{"errcode":0,"errmsg":"ok"}`, refuse: testenv.ReplyStatus(http.StatusOK, `{"errcode":40058,"errmsg":"s3cr3t-k3y is no key"}`), code: 200,
		},
		"ntfy": {
			url:    func(h string) string { return "ntfy://tally:s3cr3t-p4ssw0rd@" + h + "/s3cr3t-t0p1c?scheme=http" },
			refuse: testenv.ReplyEcho(http.StatusBadRequest), code: 400,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sinktest.RunPush(t, func(t *testing.T) sinktest.PushFixture {
				t.Helper()
				server := testenv.NewHTTPServer(t)
				k := &taken{reply: testenv.ReplyStatus(http.StatusOK, test.taken)}
				server.Always(k.take)
				return sinktest.PushFixture{
					Pusher: local(t, Options{URL: test.url(host(server)), Title: true}), NoKeys: !test.keyed, Asked: server.Asked,
					Secrets: []string{"s3cr3t-p4th", "s3cr3t-h34d3r", "s3cr3t-k3y", "s3cr3t-p4ssw0rd", "s3cr3t-t0p1c"},
					Answer:  func(t testing.TB, a sinktest.Answer) { t.Helper(); server.Always(k.answer(t, a, test.refuse)) },
					Keys:    func(testing.TB) []string { return k.keys() },
					Codes:   map[sinktest.Answer]int{sinktest.Take: 200, sinktest.Refuse: test.code, sinktest.Fail: 403, sinktest.Later: 429},
				}
			})
		})
	}
}

// taken stores the keys by which the server recognizes the messages that it has taken.
type taken struct {
	reply testenv.HTTPReply

	mu   sync.Mutex
	list []string
}

func (k *taken) keys() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.list)
}

func (k *taken) note(r testenv.HTTPRequest) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, r.Header.Get("Idempotency-Key"))
}

func (k *taken) take(w http.ResponseWriter, r testenv.HTTPRequest, gone <-chan struct{}) {
	k.note(r)
	k.reply(w, r, gone)
}

func (k *taken) answer(t testing.TB, a sinktest.Answer, refuse testenv.HTTPReply) testenv.HTTPReply {
	t.Helper()
	switch a {
	case sinktest.Take:
		return k.take
	case sinktest.Refuse:
		return refuse
	case sinktest.Fail:
		return testenv.ReplyEcho(http.StatusForbidden)
	case sinktest.Later:
		return testenv.ReplyEcho(http.StatusTooManyRequests, "Retry-After", "7")
	case sinktest.Break:
		return testenv.ReplyReset
	case sinktest.Lose:
		return func(w http.ResponseWriter, r testenv.HTTPRequest, gone <-chan struct{}) {
			k.note(r)
			testenv.ReplyReset(w, r, gone)
		}
	case sinktest.Hang:
		return testenv.ReplyHang
	default:
		t.Fatalf("no reply for %s", a)
		return nil
	}
}

// FuzzMessages sends any notice to each service. The calls must stay calls of that service, and JSON must stay JSON.
func FuzzMessages(f *testing.F) {
	f.Add("Bin A-01 is at -3", "text\nof two lines")
	f.Add("a\r\nX-Other: 1", "<!channel> @everyone <at user_id=\"all\"></at> ```")
	f.Add("", "")
	f.Add("\xff\x00\u202e", "{\"errcode\":1}")
	f.Add(texttest.All(), texttest.All())
	channels := map[string]*Channel{}
	for name, e := range examples() {
		c, err := newChannel(Options{URL: e.url, Title: true}, http.DefaultTransport)
		if err != nil {
			f.Fatal(err)
		}
		channels[name] = c
	}
	f.Fuzz(func(t *testing.T, title, body string) {
		d := someDelivery()
		d.Notice.Title, d.Notice.Body = title, body
		for name, c := range channels {
			m, err := c.message(d.Notice, delivery.Subscriber{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			p, err := c.service.post(m, at)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if _, err := url.ParseRequestURI(p.url); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for header, value := range p.header {
				if strings.ContainsAny(value, "\r\n\x00") {
					t.Errorf("%s: %s: %q", name, header, value)
				}
			}
			if p.header["Content-Type"] == "application/json" && !json.Valid(p.body) {
				t.Errorf("%s: %s", name, p.body)
			}
			shown := p.body // JSON, or the text itself
			if values, err := url.ParseQuery(string(p.body)); err == nil && p.header["Content-Type"] == "application/x-www-form-urlencoded" {
				if shown, err = json.Marshal(values); err != nil {
					t.Fatal(err)
				}
			}
			texttest.Visible(t, name, string(shown))
			if fault := text.CheckJSON(shown, nil); json.Valid(shown) && fault != nil {
				t.Errorf("%s: %v", name, fault)
			}
		}
	})
}
