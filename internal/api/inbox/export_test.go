package inbox

import (
	"testing"
	"time"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

// anyone is an identity that may poll everything.
var anyone = auth.Identity{Access: auth.Roles(), Warehouses: []string{auth.AllWarehouses}}

// ParsePoll is parsePoll.
func ParsePoll(raw string) (page.Query, time.Duration, *wire.Problem) {
	p, prob := parsePoll(&anyone, raw)
	return p.Query, p.wait, prob
}

// TagOf is the tag of a page of version v that answers the query in JSON.
func TagOf(t *testing.T, raw string) string {
	t.Helper()
	p, prob := parsePoll(&anyone, raw)
	if prob != nil {
		t.Fatal(prob)
	}
	return tagOf("v", identify(&p.Query, api.MediaJSON, ""), 0)
}
