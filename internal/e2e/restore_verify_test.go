package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tallyman/internal/cli"
	"tallyman/internal/testenv"
)

// expanded puts the variables of the page into the words of a command, as a shell does.
func (s *restoreSite) expanded(words []string) (list []string) {
	for _, word := range words {
		list = append(list, os.Expand(strings.Trim(word, `"`), func(name string) string { return s.variables[name] }))
	}
	return list
}

// tallyman runs a command. Its status may find something wrong.
func (s *restoreSite) tallyman(args ...string) string {
	s.t.Helper()
	if args[0] == "ledger" || args[0] == "backup" {
		return s.offline(args...)
	}
	return s.nodes[0].commandThat(func(code int) bool { return code == 0 || code == 1 && args[0] == "status" }, args...)
}

// offline runs a command that reads the configuration and needs no node.
func (s *restoreSite) offline(args ...string) string {
	s.t.Helper()
	var out, errs bytes.Buffer
	env := []string{"TALLYMAN_CONFIG=" + filepath.Join(s.dir, configFile), "COLUMNS=1000"}
	if code := cli.Run(s.t.Context(), cli.Process{Args: args, Env: env, In: strings.NewReader(""), Out: &out, Err: &errs}, cli.Default()); code != 0 {
		s.t.Fatalf("tallyman %s: %d %s%s", strings.Join(args, " "), code, &errs, &out)
	}
	s.verified = out.String()
	return s.verified
}

// foretells checks what ledger verify said before the nodes started, and that it has nothing to say once they have
// noticed the restore. Nodes that go on leave no time for the first.
func (s *restoreSite) foretells() {
	s.t.Helper()
	foretold := []string{"warning  ledger_lineage     inbox: Redis knows more than this ledger", "warning  ledger_lineage     " + workQueue + ": Redis knows more than this ledger", "items_open         " + workQueue + ": items that have not ended: 5 ready", "0 wrong, "}
	if s.goesOn {
		foretold = nil
	}
	for _, line := range foretold {
		if !strings.Contains(s.verified, line) {
			s.t.Errorf("before the start ledger verify does not say %q:\n%s", line, s.verified)
		}
	}
	testenv.Eventually(s.t, func() bool {
		s.does("## Verify a ledger")
		out := s.verified
		return strings.Count(out, "ok       ledger_lineage") == 2 && strings.Contains(out, "warning  ledger_restored")
	}, 60*time.Second)
}

// silence adds a silence of a warehouse that the site does not have.
func (s *restoreSite) silence(comment string) {
	s.t.Helper()
	s.tallyman("silences", "add", "warehouse=none", "--for", "1h", "--comment", comment)
}
