package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// upgradeRules are worldRules, whose notices also go to a webhook and to a queue, and the rules that fire every second.
func upgradeRules() string {
	const inbox = "deliver: [{sink: inbox}]"
	bins := strings.Replace(worldRules, inbox, fmt.Sprintf("deliver: [{sink: inbox}, {sink: %s, strategy: important}]", important), 1)
	return strings.Replace(bins, inbox, fmt.Sprintf("deliver: [{sink: inbox}, {sink: %s}]", workQueue), 1) + tickRules("{sink: inbox}")
}

// upgradedSite is a cluster with three nodes of a cluster, each of one version or the other.
type upgradedSite struct {
	*pushTrial
	before, next string // the programs of both versions
	nodes        [nodesOfThree]*node
}

// A site is upgraded node by node, goes back, is upgraded again, and loses the way back by the contract step. Nothing is
// lost, doubled or refused meanwhile.
func TestUpgradeNodeByNodeAndBack(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	before, next := buildOld(t), buildNew(t)
	c := newBareCluster(t, testenv.Postgres(t), longLease, upgradeRules())
	c.shelf()
	hook := calmReceiver(t)
	c.sinks("  " + workQueue + ": {type: queue}\n" + webhook(important, hook))
	u := &upgradedSite{pushTrial: &pushTrial{trial: &trial{cluster: c}, receivers: map[string]*receiver{important: hook}}, before: before, next: next}

	u.tallyman(0, before, "migrate", "up")
	began := time.Now()
	u.roll(before)
	u.trial = unseenTrial(c)
	people := employ(c)
	testenv.Eventually(t, func() bool { return u.heard() > 0 }, 30*time.Second)

	u.plans("goes_on", "--expand")
	u.plans("stops")
	u.tallyman(0, next, "migrate", "up", "--expand")
	u.ledger = c.openLedger()
	for _, program := range []string{next, before, next} {
		u.roll(program)
		u.awaitFirings(u.ledger, tickScopes, time.Now(), everyRule, latestRule)
	}

	// The way back is open until the contract step. The contract step waits for nodes that it excludes.
	u.replace(0, os.Args[0])
	if told := u.tallyman(1, next, "migrate", "up"); !strings.Contains(told, "ledger_old_nodes: ") || !strings.Contains(told, u.nodes[0].name+" runs version") {
		t.Errorf("migrate up beside an old node says %s", told)
	}
	u.tallyman(0, next, "migrate", "up", "--force")
	u.leave(0)
	testenv.Eventually(t, func() bool {
		var form wire.DrainForm
		return u.nodes[0].call(http.MethodGet, "/drain", "", &form) == http.StatusOK && form.State == wire.DrainDone
	}, 30*time.Second)
	if told := u.tallyman(1, before, "serve"); !strings.Contains(told, "ledger_newer: ") {
		t.Errorf("the old version starts after the contract step: %s", told)
	}
	u.replace(0, next)
	u.awaitFirings(u.ledger, tickScopes, time.Now(), everyRule, latestRule)

	u.end()
	u.end = func() {}
	events := 0
	for _, of := range u.world.events {
		events += len(of)
	}
	people.finish(u.nodes[0], events)
	u.finish(u.nodes[:])
	u.verifyTicks(u.ledger, began)
	excused := u.firings(u.ledger, everyRule).standstill()
	u.firings(u.ledger, stateRule).gapless(excused)
	u.firings(u.ledger, eventRule).gapless(excused)
	calls, failed := hook.seen()
	if failed+repeats(calls) > 0 {
		t.Errorf("%d calls of the webhook failed, %d came again", failed, repeats(calls))
	}
	for _, cl := range u.clients[:len(warehouses)] { // The clients that poll.
		if cl.refused+cl.later > 0 {
			t.Errorf("%d polls of %s met no node, %d were refused", cl.refused, cl.warehouse, cl.later)
		}
	}
	t.Logf("the upgrades took %s", time.Since(began).Round(time.Second))
}

// tallyman runs a command of a program on the site's configuration, checks its exit code, and returns its output.
func (u *upgradedSite) tallyman(code int, program string, args ...string) string {
	u.t.Helper()
	cmd := exec.CommandContext(u.t.Context(), program, append(args, "--config", filepath.Join(u.dir, configFile))...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != code {
		u.t.Fatalf("tallyman %s: %v, want exit code %d\n%s", strings.Join(args, " "), err, code, out)
	}
	return string(out)
}

// plans proves that the plan of the next version tells whether the version before can go on, and names the old nodes.
func (u *upgradedSite) plans(oldVersion string, flags ...string) {
	u.t.Helper()
	var plan struct {
		OldVersion string                           `json:"old_version"`
		OtherNodes []struct{ Name, Version string } `json:"other_nodes"`
	}
	told := u.tallyman(0, u.next, append([]string{"migrate", "up", "--plan", "-o", "json"}, flags...)...)
	if err := json.Unmarshal([]byte(told), &plan); err != nil || plan.OldVersion != oldVersion || len(plan.OtherNodes) != nodesOfThree {
		u.t.Errorf("the plan %v is %s, want %s and %d nodes: %v", flags, told, oldVersion, nodesOfThree, err)
	}
}

// roll replaces each node by the program, one after the other.
func (u *upgradedSite) roll(program string) {
	u.t.Helper()
	for place := range u.nodes {
		u.replace(place, program)
	}
}

// replace stops the node in the place, and starts the program there. Clients are sent there while the node is in
// service, as a load balancer does.
func (u *upgradedSite) replace(place int, program string) {
	u.t.Helper()
	if u.nodes[place] != nil {
		u.leave(place)
		u.nodes[place].stop()
	}
	u.started++
	name := fmt.Sprintf("node-%d-%d", place, u.started)
	n := startProgram(u.t, program, u.dir, name, "TALLYMAN_NODE__NAME="+name, drainDelay(time.Second))
	testenv.Eventually(u.t, func() bool { status, _ := n.readyz(); return status == http.StatusOK }, startWithin)
	u.nodes[place] = n
	u.mu.Lock()
	defer u.mu.Unlock()
	if place == len(u.bases) {
		u.bases = append(u.bases, "")
	}
	u.bases[place] = n.base
}

// leave sends clients of the place to another place.
func (u *upgradedSite) leave(place int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bases[place] = u.bases[(place+1)%len(u.bases)]
}
