package api_test

import (
	"net/http"
	"strings"
	"testing"

	"tallyman/sinks/inbox/page"
)

func TestBadPolls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const ok = "warehouse=1&subscriber=user:1"
	for query, code := range map[string]string{
		"":                             "missing_parameter",
		"warehouse=1":                  "missing_parameter",
		"warehouse=1&subscriber=":      "missing_parameter",
		"subscriber=user:1":            "missing_parameter",
		"warehouse=&subscriber=u":      "bad_subscriber",
		"warehouse=*&subscriber=u":     "bad_warehouse",
		"warehouse=a/b":                "bad_warehouse",
		"warehouse=-1":                 "bad_warehouse",
		"warehouse=%7B1%7D":            "bad_warehouse",
		"warehouse=" + long(65):        "bad_warehouse",
		"warehouse=1&warehouse=2":      "repeated_parameter",
		"subscriber=1":                 "bad_subscriber",
		"subscriber=team:1":            "bad_subscriber",
		"subscriber=user:":             "bad_subscriber",
		"subscriber=user:a%20b":        "bad_subscriber",
		"subscriber=user:a%0Ab":        "bad_text",
		"subscriber=user:" + long(129): "bad_subscriber",
		ok + strings.Repeat("&subscriber=role:x", 100): "bad_subscriber",
		ok + "&type=a%20b":                  "bad_type",
		ok + strings.Repeat("&type=X", 101): "bad_type",
		ok + "&limit=0":                     "bad_limit",
		ok + "&limit=201":                   "bad_limit",
		ok + "&limit=-1":                    "bad_limit",
		ok + "&limit=ten":                   "bad_limit",
		ok + "&limit=1e2":                   "bad_limit",
		ok + "&limit=1&limit=2":             "repeated_parameter",
		ok + "&since=-1":                    "bad_since",
		ok + "&since=yesterday":             "bad_since",
		ok + "&since=9007199254741":         "bad_since",
		ok + "&since=1&since=2":             "repeated_parameter",
		ok + "&wait=25":                     "bad_wait",
		ok + "&wait=61s":                    "bad_wait",
		ok + "&wait=-1s":                    "bad_wait",
		ok + "&wait=1s&wait=2s":             "repeated_parameter",
		ok + "&after=a&after=b":             "repeated_parameter",
		ok + "&after=a&since=1":             "invalid_parameter",
		ok + "&type=%zz":                    "invalid_parameter",
		ok + "&%zz=1":                       "invalid_parameter",
		ok + "&unread=yes":                  "invalid_parameter",
		ok + "&Limit=5":                     "unknown_parameter",
		ok + "&token=secret":                "unknown_parameter",
	} {
		got := b.get(t, "/api/v1/notices?"+query)
		if p := got.asProblem(t); p.Code != code || got.status != http.StatusBadRequest {
			t.Errorf("%.80s: %d %s (%s), want 400 %s", query, got.status, p.Code, p.Detail, code)
		}
	}
	if asked := b.inbox.asked(); len(asked) != 0 {
		t.Errorf("bad polls reached the inbox: %v", asked)
	}
}

func long(n int) string { return strings.Repeat("x", n) }

func TestBadLegacyPolls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for query, code := range map[string]string{
		"":                                "missing_parameter",
		"whId=1":                          "missing_parameter",
		"whId=1&subscriberIdList=":        "missing_parameter",
		"whId=1&subscriberIdList=,":       "missing_parameter",
		"subscriberIdList=1":              "missing_parameter",
		"whId=a%20b&subscriberIdList=1":   "bad_warehouse",
		"whId=1&subscriberIdList=a%20b":   "bad_subscriber",
		"whId=1&subscriberIdList=1,role:": "bad_subscriber",
		"whId=1&subscriberIdList=1&lastFetchTimeStamp=x":  "bad_since",
		"whId=1&subscriberIdList=1&lastFetchTimeStamp=-1": "bad_since",
		"whId=1&subscriberIdList=1&includeRead=yes":       "invalid_parameter",
		"whId=1&subscriberIdList=1&wait=61s":              "bad_wait",
		"whId=1&roleIdList=a%20b":                         "bad_subscriber",
	} {
		got := b.get(t, legacyPath+"?"+query)
		if p := got.asProblem(t); p.Code != code || got.status != http.StatusBadRequest || p.XMLName.Local != "problem" {
			t.Errorf("%s: %d %s, want 400 %s in XML", query, got.status, p.Code, code)
		}
	}
}

func TestInboxErrors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tag := b.get(t, pollPath).header.Get("ETag")
	for _, tc := range []struct {
		err    error
		status int
		code   string
	}{
		{page.ErrBadCursor, http.StatusBadRequest, "bad_cursor"},
		{page.ErrUnavailable, http.StatusServiceUnavailable, "inbox_unavailable"},
		{errBroken, http.StatusInternalServerError, "internal_error"},
	} {
		b.inbox.fail(tc.err)
		for _, got := range []answer{
			b.get(t, pollPath), b.get(t, pollPath, "If-None-Match", tag), b.get(t, pollPath, "Accept", "application/xml"),
			b.get(t, legacyPath+"?whId=1&subscriberIdList=1"),
		} {
			if p := got.asProblem(t); got.status != tc.status || p.Code != tc.code || strings.Contains(got.body, "hunter2") {
				t.Errorf("%v: %d %s", tc.err, got.status, got.body)
			}
			if again := got.header.Get("Retry-After"); (again != "") != (tc.status == http.StatusServiceUnavailable) {
				t.Errorf("%v: Retry-After %q", tc.err, again)
			}
		}
	}
	if !strings.Contains(b.log.String(), "hunter2") {
		t.Error("the log does not have the cause")
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const types = "/api/v1/types"
	const subs = "/api/v1/subscriptions"
	const sub = `{"type":"REP_NOTICE","warehouse":"*","subscriber":"role:keeper"}`
	for _, tc := range []struct {
		method, path, body string
		header             []string
		status             int
		code               string
	}{
		{"GET", "/", "", nil, 404, "not_found"},
		{"GET", "/api/v1/nothing", "", nil, 404, "not_found"},
		{"PUT", pollPath, "", nil, 405, "method_not_allowed"},
		{"PUT", subs, "{}", nil, 405, "method_not_allowed"},
		{"PATCH", types, "{}", nil, 405, "method_not_allowed"},
		{"GET", pollPath, "", []string{"Accept", "text/html"}, 406, "not_acceptable"},
		{"GET", pollPath, "", []string{"Accept", "application/json;q=0"}, 406, "not_acceptable"},
		{"GET", types, "", []string{"Accept", "image/png"}, 406, "not_acceptable"},
		{"GET", types, "", []string{"Host", "evil.example.com"}, 421, "bad_host"},
		{"POST", subs, sub, []string{"Sec-Fetch-Site", "cross-site"}, 403, "cross_origin"},
		{"POST", subs, sub, []string{"Origin", "https://evil.example.com"}, 403, "cross_origin"},
		{"GET", types + "?x=1", "", nil, 400, "unknown_parameter"},
		{"GET", types + "/NO_SUCH", "", nil, 404, "unknown_type"},
		{"DELETE", types + "/NO_SUCH", "", nil, 404, "unknown_type"},
		{"GET", subs + "?limit=0", "", nil, 400, "bad_limit"},
		{"GET", subs + "?limit=1001", "", nil, 400, "bad_limit"},
		{"GET", subs + "?limit=1&limit=2", "", nil, 400, "repeated_parameter"},
		{"GET", subs + "?after=!!", "", nil, 400, "bad_cursor"},
		{"GET", subs + "?after=YQpiCmM", "", nil, 400, "bad_cursor"},
		{"GET", subs + "?subscriber=x", "", nil, 400, "bad_subscriber"},
		{"GET", subs + "?warehouse=a/b", "", nil, 400, "bad_warehouse"},
		{"GET", subs + "?type=a/b", "", nil, 400, "bad_type"},
		{"POST", subs, "", nil, 400, "malformed_body"},
		{"POST", subs, "{", nil, 400, "malformed_body"},
		{"POST", subs, sub + "x", nil, 400, "malformed_body"},
		{"POST", subs, sub, []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type"},
		{"POST", subs, "<x/>", []string{"Content-Type", "application/xml"}, 422, "invalid_body"},
		{"POST", subs, "<x>", []string{"Content-Type", "text/xml; charset=utf-8"}, 400, "malformed_body"},
		{"POST", subs, "<x><Type>a</Type></x>", []string{"Content-Type", "application/soap+xml"}, 422, "invalid_body"},
		{"POST", subs, "[]", nil, 422, "invalid_body"},
		{"POST", subs, `{"type":"REP_NOTICE","warehouse":"*"}`, nil, 422, "invalid_body"},
		{"POST", subs, strings.Replace(sub, `"*"`, "true", 1), nil, 422, "invalid_body"},
		{"POST", subs, strings.Replace(sub, "{", `{"extra":1,`, 1), nil, 422, "invalid_body"},
		{"POST", subs, strings.Replace(sub, "*", "a b", 1), nil, 422, "bad_warehouse"},
		{"POST", subs, strings.Replace(sub, "role:", "", 1), nil, 422, "bad_subscriber"},
		{"POST", subs, strings.Replace(sub, "REP_NOTICE", "NO_SUCH", 1), nil, 422, "unknown_type"},
		{"POST", subs, strings.Replace(sub, "keeper", long(70_000), 1), nil, 413, "body_too_large"},
		{"POST", subs + "/import", `{"subscriptions":[` + sub + `,{"type":"x","warehouse":"1","subscriber":"y"}]}`, nil, 422, "bad_subscriber"},
		{"POST", subs + "/import", `{"subscriptions":null}`, nil, 422, "invalid_body"},
		{"DELETE", subs, "", nil, 400, "missing_parameter"},
		{"DELETE", subs + "?type=REP_NOTICE&warehouse=*", "", nil, 400, "missing_parameter"},
		{"DELETE", subs + "?type=REP_NOTICE&warehouse=*&subscriber=user:nobody", "", nil, 404, "subscription_not_found"},
		{"DELETE", subs + "?type=REP_NOTICE&warehouse=*&subscriber=nobody", "", nil, 400, "bad_subscriber"},
	} {
		got := b.do(t, tc.method, tc.path, tc.body, tc.header...)
		if p := got.asProblem(t); got.status != tc.status || p.Code != tc.code {
			t.Errorf("%s %.60s %.60s: %d %s (%s), want %d %s", tc.method, tc.path, tc.body, got.status, p.Code, p.Detail, tc.status, tc.code)
		}
	}
	if got := b.do(t, "PUT", pollPath, "").header.Get("Allow"); got != "GET, HEAD, POST" {
		t.Errorf("Allow: %q", got)
	}
}
