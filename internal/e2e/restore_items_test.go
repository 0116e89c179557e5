package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"tallyman/internal/item"
)

// work pushes five items, and returns the first two in the order of service.
func (s *restoreSite) work() (first []string) {
	s.t.Helper()
	var pushed struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	body := `{"items":[{"payload":1},{"payload":2},{"payload":3},{"payload":4},{"payload":5}]}`
	if code := s.nodes[0].call(http.MethodPost, "/queues/"+workQueue+"/items", body, &pushed); code >= http.StatusBadRequest || len(pushed.Items) != 5 {
		s.t.Fatalf("push: %d, %+v", code, pushed)
	}
	return []string{pushed.Items[0].ID, pushed.Items[1].ID}
}

// leased leases what there is, and returns the ids and attempts.
func (s *restoreSite) leased(most int) (ids []string, attempts []int) {
	s.t.Helper()
	var step struct {
		Items []struct {
			ID      string `json:"id"`
			Attempt int    `json:"attempt"`
		} `json:"items"`
	}
	if !s.nodes[0].ask(http.MethodPost, "/lease", fmt.Sprintf(`{"worker":"w","max":%d}`, most), &step) {
		s.t.Fatal("the queue gives nothing")
	}
	for _, one := range step.Items {
		ids, attempts = append(ids, one.ID), append(attempts, one.Attempt)
	}
	return ids, attempts
}

// finishTwo has a worker finish two items.
func (s *restoreSite) finishTwo(want []string) {
	s.t.Helper()
	ids, attempts := s.leased(2)
	if !slices.Equal(ids, want) {
		s.t.Fatalf("the worker got %v, want %v", ids, want)
	}
	for i, id := range ids {
		s.nodes[0].command("queue", "ack", workQueue, id, "--attempt", strconv.Itoa(attempts[i]), "--worker", "w")
	}
}

// decides checks that no worker gets an item that had ended, until an operator has decided about the item.
func (s *restoreSite) decides(ended []string) {
	s.t.Helper()
	s.does("### 4. Decide about withheld items")
	n := s.nodes[0]
	withheld := n.awaitItems(item.WithheldState, 2)
	for i, id := range ended {
		if withheld[1-i].ID != id || withheld[i].State != string(item.Dead) {
			s.t.Errorf("withheld are %+v, want %v", withheld, ended)
		}
	}
	if ids, _ := s.leased(10); len(ids) != 3 {
		s.t.Errorf("workers get %v", ids)
	}
	if ready := s.get("/readyz"); !strings.Contains(ready, `"restore `+workQueue+`"`) {
		s.t.Errorf("/readyz says %s", ready)
	}
	if text := s.get("/metrics"); !strings.Contains(text, `tallyman_queue_items_withheld{queue="`+workQueue+`"} 2`) {
		s.t.Error("no metric has the withheld items")
	}
	n.command("queue", "remove", workQueue, ended[0])
	n.command("queue", "requeue", workQueue, ended[1])
	n.awaitItems(item.WithheldState, 0)
	if ids, _ := s.leased(10); !slices.Equal(ids, ended[1:]) {
		s.t.Errorf("after the decision workers get %v, want %v", ids, ended[1:])
	}
	if out := s.tallyman("audit", "list", "--object", "queue:"+workQueue, "-o", "json"); !strings.Contains(out, ended[0]) || !strings.Contains(out, ended[1]) {
		s.t.Errorf("the audit log says\n%s", out)
	}
}
