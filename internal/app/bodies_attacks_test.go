package app_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"tallyman/internal/auth"
	"tallyman/internal/config"
	"tallyman/internal/testenv"
)

// names are subscribers as elements of a JSON list.
func names(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"user:` + strconv.Itoa(i) + `"`)
	}
	return b.String()
}

// TestWhatWentRoundTheChecks sends, with the token of a service of one warehouse, what once passed the checks and was
// acted on: each is refused with its place, in a short answer and with little memory, nothing is changed or recorded,
// and other warehouses are served meanwhile.
func TestWhatWentRoundTheChecks(t *testing.T) { // by itself: what other tests allocate would count
	s := newSite(t)
	redisServer := testenv.Redis(t)
	s.cfg.Redis = config.Redis{URL: config.RedisURL{URLs: []config.Secret{config.NewSecret(redisServer.URL())}}, Prefix: "tallyman:"}
	s.cfg.Auth = config.Auth{Mode: config.AuthToken, JWT: &config.JWT{
		Secret: config.NewSecret(hmacSecret), Audience: "tallyman", Access: []auth.Role{auth.Service},
		Claims: config.Claims{Subject: "sub", Warehouses: "warehouses"},
	}}
	n := s.start("one")
	token := func(warehouse string) string {
		text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
			"sub": "wms", "aud": "tallyman", "exp": time.Now().Add(time.Hour).Unix(), "warehouses": []string{warehouse},
		}).SignedString([]byte(hmacSecret))
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + text
	}
	mine, other := token("119240"), token("119241")
	state := stateOf(t, s.cfg.Ledger.Path, redisServer)
	before := state.settled()

	const fine = `"type":"REP_NOTICE","warehouse":"119240","data":{"bin":"A-01"}`
	one := func(members string) string { return `{"notices":[{` + fine + members + `}]}` }
	many := func(n int) string { return strings.TrimSuffix(strings.Repeat(`{`+fine+`},`, n), ",") }
	var wide strings.Builder // 1,000 notices, none of which has too many recipients
	for i := range 1000 {
		fmt.Fprintf(&wide, `,{%s,"recipients":[%s]}`, fine, names(500+i%2))
	}
	const subscription = `"type":"REP_NOTICE","warehouse":"119240"`
	for name, c := range map[string]struct{ path, body, at, code string }{
		"560,000 names under another case": {"/notices", one(`,"recipients":["user:a"],"Recipients":[` + names(560_000) + `]`), "body.notices[0].Recipients", "invalid_body"},
		"560,000 names before the decoy":   {"/notices", one(`,"RECIPIENTS":[` + names(560_000) + `],"recipients":["user:a"]`), "body.notices[0].RECIPIENTS", "invalid_body"},
		"560,000 names":                    {"/notices", one(`,"recipients":[` + names(560_000) + `]`), "body.notices[0].recipients", "invalid_body"},
		"500,000 names in 1,000 notices":   {"/notices", `{"notices":[` + wide.String()[1:] + `]}`, "body.notices", "invalid_body"},
		"priority 99":                      {"/notices", one(`,"priority":3,"Priority":99`), "body.notices[0].Priority", "invalid_body"},
		"another warehouse, a long s":      {"/notices", `{"notices":[{"type":"REP_NOTICE","warehouſe":"119241","warehouse":"119240","title":"a"}]}`, "body.notices[0].warehouſe", "invalid_body"},
		"a text of 7.9 MB":                 {"/notices", one(`,"body":"x","Body":"` + strings.Repeat("x", 7_900_000) + `"`), "body.notices[0].Body", "invalid_body"},
		"a label of 7.9 MB":                {"/notices", one(`,"labels":{"a":"` + strings.Repeat("x", 7_900_000) + `"}`), "body.notices[0].labels.a", "invalid_body"},
		"5,000 notices":                    {"/notices", `{"notices":[{` + fine + `}],"Notices":[` + many(5_000) + `]}`, "body.Notices", "invalid_body"},
		"a member twice":                   {"/notices", one(`,"recipients":["user:a"],"recipients":["user:b"]`), "body.notices[0].recipients", "malformed_body"},
		"a member of the data twice":       {"/notices", `{"notices":[{"type":"REP_NOTICE","warehouse":"119240","data":{"bin":"A","bin":"B"}}]}`, "body.notices[0].data.bin", "malformed_body"},
		"4,000,000 faults":                 {"/notices", one(`,"recipients":[` + strings.Repeat("1,", 4_000_000-100) + `1]`), "body.notices[0].recipients[0]", "invalid_body"},
		"400,000 unknown members":          {"/notices", one(unknown(400_000)), "body.notices[0].m0", "invalid_body"},
		"a decoy for the record":           {"/subscriptions", `{` + subscription + `,"subscriber":"user:decoy","Subscriber":"user:other"}`, "body.Subscriber", "invalid_body"},
		"a decoy for the record, twice":    {"/subscriptions", `{` + subscription + `,"subscriber":"user:decoy","subscriber":"user:other"}`, "body.subscriber", "malformed_body"},
		"a decoy in an import":             {"/subscriptions/import", `{"subscriptions":[{` + subscription + `,"subscriber":"user:decoy","SUBSCRIBER":"user:other"}]}`, "body.subscriptions[0].SUBSCRIBER", "invalid_body"},
	} {
		grown := heapGrowth()
		code, answer := n.do(http.MethodPost, "/api/v1"+c.path, "application/json", c.body, "Authorization", mine)
		got := problemOf(answer)
		if code < 400 || code >= 500 || got.Code != c.code || !got.names(c.at) || len(answer) > 64<<10 {
			t.Errorf("%s: answered %d in %d bytes: %.300s", name, code, len(answer), answer)
		}
		if more := grown(); more > 256<<20 { // it was 6.8 GB; the race detector allocates, too
			t.Errorf("%s: %d MB were allocated for %d bytes", name, more>>20, len(c.body))
		}
		if code, answer := n.do(http.MethodGet, "/api/v1/notices?warehouse=119241&subscriber=user:a", "application/json", "", "Authorization", other); code != http.StatusOK {
			t.Errorf("%s: a poll of another warehouse is answered %d %s", name, code, answer)
		}
	}
	if after := state.read(); after != before {
		t.Errorf("something has changed\nbefore %s\nafter  %s", before, after)
	}
	code, answer := n.do(http.MethodPost, "/api/v1/notices", "application/json", one(`,"recipients":["user:a"]`), "Authorization", mine)
	if code != http.StatusCreated {
		t.Errorf("what is in order is answered %d %s", code, answer)
	}
}

func unknown(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"m%d":1`, i)
	}
	return b.String()
}

// heapGrowth returns what tells how much was allocated since, by client, server and whatever runs beside.
func heapGrowth() func() uint64 {
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	return func() uint64 {
		var after runtime.MemStats
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
}
