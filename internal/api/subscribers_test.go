package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tallyman/internal/delivery"
)

func TestSubscribers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const path = "/api/v1/subscribers"
	const ann = `{"name":"Ann Lee","language":"zh","mail":["Ann Lee <ann@example.com>","a@example.org"],` +
		`"phone":"+8613800000000","alias":"ann.lee","tags":["night"],"channels":{"fcm":"c1","jpush":"170976"}}`
	for _, s := range []struct {
		method, path, body string
		status             int
		contains           string
	}{
		{"PUT", path + "/user:ann", ann, 201, `{"id":"user:ann",` + ann[1:]},
		{"PUT", path + "/user:ann", ann, 200, `"id":"user:ann"`},
		{"PUT", path + "/role:keeper", `{}`, 201, `{"id":"role:keeper"}`},
		{"GET", path + "/user:ann", "", 200, `"language":"zh"`},
		{"GET", path + "/user:bob", "", 404, `"code":"subscriber_not_found"`},
		{"GET", path + "/ann", "", 400, `"code":"bad_subscriber"`},
		{"PUT", path + "/ann", ann, 400, `"code":"bad_subscriber"`},
		{"PUT", path + "/shadow:x", ann, 400, `"code":"bad_subscriber"`},
		{"PUT", path + "/user:ann", `{"language":"Chinese"}`, 422, `"location":"body.language"`},
		{"PUT", path + "/user:ann", `{"name":"a\nb"}`, 422, `"location":"body.name"`},
		{"PUT", path + "/user:ann", `{"mail":["a@example.com","b"]}`, 422, `"location":"body.mail[1]"`},
		{"PUT", path + "/user:ann", `{"phone":"call me"}`, 422, `"location":"body.phone"`},
		{"PUT", path + "/user:ann", `{"tags":["a","a"]}`, 422, `"location":"body.tags[1]"`},
		{"PUT", path + "/user:ann", `{"channels":{"mail":"a@example.com"}}`, 422, `"location":"body.channels.mail"`},
		{"PUT", path + "/user:ann", `{"channels":{"jpush":1}}`, 422, `"location":"body.channels.jpush"`},
		{"PUT", path + "/user:ann", `{"id":"user:ann"}`, 422, `"code":"invalid_body"`},
		{"PUT", path + "/user:ann", ``, 400, `"code":"malformed_body"`},
		{"GET", path + "?after=!!", "", 400, `"code":"bad_cursor"`},
		{"GET", path + "?limit=0", "", 400, `"code":"bad_limit"`},
		{"DELETE", path + "/ann", "", 400, `"code":"bad_subscriber"`},
		{"DELETE", path + "/user:bob", "", 404, `"code":"subscriber_not_found"`},
	} {
		got := b.do(t, s.method, s.path, s.body)
		if got.status != s.status || !strings.Contains(got.body, s.contains) {
			t.Errorf("%s %s %s: %d %s, want %d %s", s.method, s.path, s.body, got.status, got.body, s.status, s.contains)
		}
	}
	golden(t, "subscribers.json", b.get(t, path).body)
	golden(t, "subscribers.xml", b.get(t, path, "Accept", "application/xml").body)
	if got := b.do(t, http.MethodDelete, path+"/user:ann", ""); got.status != http.StatusNoContent || len(b.book.entries) != 1 {
		t.Errorf("delete: %d %s", got.status, got.body)
	}
}

func TestSubscriberPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 25 {
		id := fmt.Sprintf("user:%02d", i)
		b.book.entries[id] = delivery.Subscriber{ID: id}
	}
	var seen []string
	for cursor := ""; ; {
		var pg struct {
			Subscribers []struct{ ID string }
			Cursor      string
		}
		if err := json.Unmarshal([]byte(b.get(t, "/api/v1/subscribers?limit=10&after="+cursor).body), &pg); err != nil {
			t.Fatal(err)
		}
		for _, s := range pg.Subscribers {
			seen = append(seen, s.ID)
		}
		if cursor = pg.Cursor; cursor == "" {
			break
		}
	}
	if len(seen) != 25 || seen[0] != "user:00" || seen[24] != "user:24" {
		t.Errorf("seen %v", seen)
	}
}

func TestTheAddressBookIsAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.book.err = errBroken
	for _, got := range []answer{b.get(t, "/api/v1/subscribers"), b.get(t, "/api/v1/subscribers/user:1"), b.do(t, "PUT", "/api/v1/subscribers/user:1", "{}")} {
		if got.status != http.StatusServiceUnavailable || strings.Contains(got.body, "hunter2") {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
}
