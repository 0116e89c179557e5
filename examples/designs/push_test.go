package designs

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"tallyman/internal/testenv"
)

// pushService answers as JPush does. It is out of order for some calls of an alias.
type pushService struct {
	server *testenv.HTTPServer

	mu      sync.Mutex
	outages map[string]int      // alias → calls that it still fails
	pushed  map[string][]string // alias → titles
}

func newPushService(t *testing.T) *pushService {
	t.Helper()
	s := &pushService{server: testenv.NewHTTPServer(t), outages: map[string]int{}, pushed: map[string][]string{}}
	s.server.Always(s.answer)
	return s
}

// address is that of the service, with the account in it.
func (s *pushService) address() string {
	return strings.Replace(s.server.URL, "://", "://app-key:master-secret@", 1) + "/v3/push"
}

func (s *pushService) answer(w http.ResponseWriter, r testenv.HTTPRequest, gone <-chan struct{}) {
	var form struct {
		Audience     struct{ Alias []string }
		Notification struct {
			Android struct {
				Title  string
				Extras struct{ Tags []string }
			}
		}
	}
	isCall := r.URI == "/v3/push" && strings.HasPrefix(r.Header.Get("Authorization"), "Basic ")
	if json.Unmarshal(r.Body, &form) != nil || len(form.Audience.Alias) != 1 || !isCall {
		testenv.ReplyStatus(http.StatusBadRequest, `{"error":{"code":1003,"message":"parameter value is invalid"}}`)(w, r, gone)
		return
	}
	alias, android := form.Audience.Alias[0], form.Notification.Android
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outages[alias] > 0 {
		s.outages[alias]--
		testenv.ReplyStatus(http.StatusInternalServerError, `{"error":{"code":1000,"message":"server error"}}`)(w, r, gone)
		return
	}
	s.pushed[alias] = append(s.pushed[alias], strings.Join(append([]string{android.Title}, android.Extras.Tags...), ", "))
	testenv.ReplyStatus(http.StatusOK, `{"sendno":"0","msg_id":"54043195"}`)(w, r, gone)
}

// fail has the service fail the next calls of an alias.
func (s *pushService) fail(alias string, calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outages[alias] = calls
}

// got tells whether exactly these were pushed to an alias, each with the tags of its user.
func (s *pushService) got(alias string, want ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Equal(s.pushed[alias], want)
}

// Each of the four strategies pushes to an alias, or does not.
func (s *pushService) play(c *chapter) {
	c.run("tallyman subscribers set user:ann")
	c.run("tallyman subscribers set user:ben")

	c.run(`tallyman notices send --type REP_NOTICE --warehouse 119240 --title "Gate 3 is closed"`)
	testenv.Eventually(c.t, func() bool {
		return s.got("ann.lee", "Gate 3 is closed, night-shift") && s.got("ben.wu", "Gate 3 is closed")
	}, answerTime)

	s.fail("ann.lee", 2)
	s.fail("ben.wu", 1)
	timed := first(c.run(`tallyman notices send --type WAVE_STUCK --warehouse 119240 --title "Wave 77 stands still"`))
	important := first(c.run(`tallyman notices send --type LOT_EXPIRY --warehouse 119240 --title "Lot 9 is recalled"`))
	delayed := first(c.run(`tallyman notices send --type REP_NOTICE --warehouse 119240 --title "Bin A-02 is empty"`))
	c.vars["ID"] = delayed
	c.await("tallyman notices read")

	for _, id := range []string{timed, important, delayed} {
		c.vars["ID"] = id
		c.await("tallyman deliveries list --sink jpush --notice $ID")
	}
	if !s.got("ann.lee", "Gate 3 is closed, night-shift", "Lot 9 is recalled, night-shift") || !s.got("ben.wu", "Gate 3 is closed", "Wave 77 stands still") {
		c.t.Errorf("the service has %v", s.pushed)
	}
}
