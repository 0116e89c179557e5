package api_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tallyman/internal/auth"
)

// cells has the callers of every operation: x = allowed, . = 403. The table repeats Access on purpose: a change of
// access must be written twice.
const cells = `
healthz                    x x x x x x x  x
readyz                     x x x x x x x  x
openapi                    x x x x x x x  .
metrics                    . . . . x x x  .
status                     . . . . x x x  .
me                         x x x x x x x  .
overview                   . . . . x x x  .
stream-overview            . . . . x x x  .
overview-history           . . . . x x x  .
find                       . . . . x x x  .
list-failures              . . . . x x x  .

poll-notices               x x . . x x x  .
stream-notices             x x . . x x x  .
legacy-list-notifications  x x . . x x x  .
legacy-post-notifications  x x . . x x x  .
summarize-notices          x x . . x x x  .
read-notice                x x . . . . x  .
ack-notice                 x x . . . . x  .
read-all-notices           x x . . . . x  .
send-notices               . x x . . x x  .
get-notice                 . . . . x x x  .
search-notices             . . . . x x x  .

list-types                 x x x x x x x  .
get-type                   x x x x x x x  .
create-type                . . . . . x x  .
put-type                   . . . . . x x  .
delete-type                . . . . . x x  .
preview-type               x x x x x x x  .

list-subscriptions         . x . . x x x  .
create-subscription        . x . . . x x  .
import-subscriptions       . x . . . x x  .
delete-subscription        . x . . . x x  .
list-subscription-origins  . . . . x x x  .
confirm-subscriptions      . . . . . x x  .
release-subscriptions      . . . . . x x  .
list-scope-origins         . . . . x x x  .
confirm-scopes             . . . . . x x  .
forget-scopes              . . . . . x x  .
list-subscribers           . . . . x x x  .
get-subscriber             . . . . x x x  .
put-subscriber             . . . . . x x  .
delete-subscriber          . . . . . x x  .

list-queues                . . x x x x x  .
get-queue                  . . x x x x x  .
get-queue-settings         . . x x x x x  .
list-workers               . . . . x x x  .
list-items                 . . x x x x x  .
get-item                   . . x x x x x  .
rank-item                  . . x x x x x  .
push-items                 . . x . . x x  .
lease-items                . . . x . x x  .
step                       . . . x . x x  .
ack-item                   . . . x . x x  .
nack-item                  . . . x . x x  .
release-item               . . . x . x x  .
extend-item                . . . x . x x  .
suspend-item               . . . x . x x  .
store-item                 . . . x . x x  .
assign-item                . . . x . x x  .
finish-item                . . . . . x x  .
set-item                   . . . . . x x  .
requeue-item               . . . . . x x  .
remove-item                . . . . . x x  .
remove-range               . . . . . x x  .
requeue-items              . . . . . x x  .
pause-queue                . . . . . x x  .
resume-queue               . . . . . x x  .
set-queue-settings         . . . . . x x  .

list-rules                 . . . . x x x  .
get-rule                   . . . . x x x  .
get-rule-source            . . . . x x x  .
list-runs                  . . . . x x x  .
list-findings              . . . . x x x  .
why                        . . . . x x x  .
enable-rule                . . . . . x x  .
disable-rule               . . . . . x x  .
clear-rule                 . . . . . x x  .
pause-rules                . . . . . x x  .
resume-rules               . . . . . x x  .
run-rule                   . . . . . x x  .
reload-rules               . . . . . x x  .
promote-rule               . . . . . x x  .
preview-rule               . . . . . x x  .
rewind-rule                . . . . . x x  .
draft-rule                 . . . . . x x  .

list-silences              . . . . x x x  .
get-silence                . . . . x x x  .
create-silence             . . . . . x x  .
expire-silence             . . . . . x x  .

get-clock                  . . . . x x x  .
confirm-clock              . . . . . x x  .

get-log                    . . . . x x x  .
set-log-level              . . . . . x x  .

get-drain                  . . . . x x x  .
drain                      . . . . . x x  .

list-sinks                 . . . . x x x  .
get-sink                   . . . . x x x  .
list-deliveries            . . . . x x x  .
list-delivery-causes       . . . . x x x  .
get-delivery               . . . . x x x  .
retry-delivery             . . . . . x x  .
retry-deliveries           . . . . . x x  .
cancel-delivery            . . . . . x x  .
cancel-deliveries          . . . . . x x  .

list-audit                 . . . . x x x  .
list-tokens                . . . . . . x  .
create-token               . . . . . . x  .
revoke-token               . . . . . . x  .
`

var columns = []string{"client", "service", "producer", "worker", "viewer", "operator", "admin", ""}

// byRole knows the bearer token that is the name of a role: user 1 everywhere.
type byRole struct{}

func (byRole) Authenticate(r *http.Request) (auth.Identity, error) {
	role, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return auth.Identity{}, auth.ErrNoToken
	}
	if !slices.Contains(auth.Roles(), auth.Role(role)) {
		return auth.Identity{}, errors.New("the test knows no such role")
	}
	return auth.Identity{Subject: "user:1", Access: []auth.Role{auth.Role(role)}, Subscribers: []string{"user:1"}, Warehouses: []string{"*"}}, nil
}

// TestEveryOperationForEveryRole asks for each operation of the document with each role, and without a token.
func TestEveryOperationForEveryRole(t *testing.T) { //nolint:tparallel // the operations share an API, whose fakes are for one at a time
	t.Parallel()
	want := map[string][]string{}
	for line := range strings.Lines(cells) {
		if fields := strings.Fields(line); len(fields) > 0 {
			want[fields[0]] = fields[1:]
		}
	}
	doc, _ := readDocument(t)
	b := newBundle(func(d *parts) { d.Auth = byRole{} })
	for path, item := range doc.Paths {
		for method, op := range item {
			row, ok := want[op.OperationID]
			if !ok || len(row) != len(columns) {
				t.Errorf("%s is not in the table of this test", op.OperationID)
				continue
			}
			delete(want, op.OperationID)
			t.Run(op.OperationID, func(t *testing.T) {
				for i, role := range columns {
					b.checkCell(t, strings.ToUpper(method), path, role, row[i] == "x")
				}
			})
		}
	}
	for id := range want {
		t.Errorf("%s is in the table of this test, and no operation", id)
	}
}

// checkCell sends the request as the role. The request has another fault, too, which a caller without access must not
// learn.
func (b *bundle) checkCell(t *testing.T, method, path, role string, allowed bool) {
	t.Helper()
	path = strings.NewReplacer("{queue}", "replenishment", "{code}", "REP_NOTICE", "{id}", "x", "{sink}", "none").Replace(path)
	headers := []string{"Accept", "application/json"}
	if role != "" {
		headers = append(headers, "Authorization", "Bearer "+role)
	}
	body := ""
	if strings.Contains(path, "/items/x/") { // of an item that is leased
		body = `{"attempt":1}`
	}
	got := b.handleBody(t, method, path, body, headers...)
	status, code := http.StatusForbidden, "role_missing"
	if role == "" {
		status, code = http.StatusUnauthorized, "token_missing"
	}
	refused := got.status == status && (strings.Contains(got.body, `"code":"`+code+`"`) || strings.Contains(got.body, "<code>"+code+"</code>"))
	if refused == allowed {
		t.Errorf("%q: %s %s answers %d %s", role, method, path, got.status, got.body)
	}
	if refused && !strings.HasPrefix(got.header.Get("WWW-Authenticate"), `Bearer realm="tallyman"`) {
		t.Errorf("%q: no WWW-Authenticate: %v", role, got.header)
	}
}
