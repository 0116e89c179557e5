package app_test

import (
	"bufio"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tallyman/sinks/inbox"
)

// TestEmbeddedRedisHasNoPort runs a node in a process of its own, which listens for the API and for nothing else.
func TestEmbeddedRedisHasNoPort(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("it reads /proc")
	}
	const child = "TALLYMAN_TEST_EMBEDDED"
	if os.Getenv(child) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEmbeddedRedisHasNoPort$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestEmbeddedRedisHasNoPort") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	s := newSite(t)
	n := s.start("one")
	n.send(`{"notices":[{"type":"REP_NOTICE","warehouse":"119240","title":"it works"}]}`, http.StatusCreated)
	n.await(url.Values{}, 1)
	if found := listeners(t); len(found) != 1 || !strings.HasPrefix(found[0], "tcp") {
		t.Errorf("the process listens at %v; the API is one of them", found)
	}
}

// listeners are the sockets that this process listens at: TCP, and Unix.
func listeners(t *testing.T) []string {
	t.Helper()
	mine := map[string]bool{}
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if link, err := os.Readlink(file); err == nil { // the folder's own is closed by now
			if inode, ok := strings.CutPrefix(link, "socket:["); ok {
				mine[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	var out []string
	for name, at := range map[string]struct {
		state, inode int
		listens      string
	}{"tcp": {3, 9, "0A"}, "tcp6": {3, 9, "0A"}, "unix": {5, 6, "01"}} {
		f, err := os.Open("/proc/self/net/" + name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			// A Unix socket listens where it has the flag __SO_ACCEPTCON.
			if len(fields) <= at.inode || fields[at.state] != at.listens || name == "unix" && fields[3] != "00010000" {
				continue
			}
			if mine[fields[at.inode]] {
				out = append(out, name+" "+fields[1])
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// A site's cap is that of its inboxes.
func TestInboxCapIsASetting(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.cfg.Sinks["inbox"].(*inbox.Settings).Cap = 3
	n := s.start("one")
	n.send(`{"notices":[{"type":"REP_NOTICE","warehouse":"119240","title":"first"}]}`, http.StatusCreated)
	first := n.await(url.Values{}, 1)
	more := `{"notices":[` + strings.Repeat(`{"type":"REP_NOTICE","warehouse":"119240","title":"more"},`, 5) + `{"type":"REP_NOTICE","warehouse":"119240","title":"last"}]}`
	if code, body := n.do(http.MethodPost, "/api/v1/notices", "application/json", more); code != http.StatusCreated {
		t.Fatalf("%d %s", code, body)
	}
	p := n.await(url.Values{"after": {first.Cursor}}, 3)
	if !p.Reset || p.ResetReason != "trimmed" || p.Missed == nil || *p.Missed != 3 {
		t.Errorf("%+v", p)
	}
}
