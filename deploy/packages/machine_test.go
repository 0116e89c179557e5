//go:build linux

package packages

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
)

// machine is a copy of this machine's files, which the test may change. The copy is an overlay in memory, in a mount
// namespace of its own, so that nothing of it stays.
type machine struct {
	root  string   // Where the copy is in the namespace.
	enter []string // The command line that enters the namespace.
}

// mount makes the copy in the folder $1. Systemd does not run in it.
const mount = `mount -t tmpfs none "$1" && mkdir "$1/upper" "$1/work" "$1/root" &&
mount -t overlay none -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root" &&
mount --rbind /dev "$1/root/dev" && mount -t proc none "$1/root/proc" && rm -rf "$1/root/run/systemd" &&
echo ready && exec cat`

func newMachine(t *testing.T) *machine {
	t.Helper()
	folder := t.TempDir()
	holder := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", mount, "sh", folder)
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var failed strings.Builder
	holder.Stderr = &failed
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = holder.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the copy of this machine's files was not mounted: %q %v\n%s", line, err, failed.String())
	}
	return &machine{
		root:  filepath.Join(folder, "root"),
		enter: []string{"nsenter", "--target", strconv.Itoa(holder.Process.Pid), "--mount"},
	}
}

// command is a command on the machine, as root.
func (m *machine) command(args ...string) *exec.Cmd {
	line := append(append([]string{}, m.enter[1:]...), "chroot", m.root)
	cmd := exec.Command(m.enter[0], append(line, args...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8"}
	return cmd
}

// do runs a command on the machine and returns what it prints.
func (m *machine) do(t *testing.T, args ...string) string {
	t.Helper()
	return run(t, m.command(args...))
}

// put copies a file to the machine and returns its path there.
func (m *machine) put(t *testing.T, path string) string {
	t.Helper()
	line := append(append([]string{}, m.enter[1:]...), "cp", path, filepath.Join(m.root, "root"))
	run(t, exec.Command(m.enter[0], line...))
	return filepath.Join("/root", filepath.Base(path))
}

// is compares owner, group and mode of a file.
func (m *machine) is(t *testing.T, path, want string) {
	t.Helper()
	if got := strings.TrimSpace(m.do(t, "stat", "--format", "%U %G %a", path)); got != want {
		t.Errorf("%s is %s, want %s", path, got, want)
	}
}

func (m *machine) isGone(t *testing.T, path string) {
	t.Helper()
	if err := m.command("test", "!", "-e", path).Run(); err != nil {
		t.Errorf("%s is still there", path)
	}
}

// longestStart is how long a node may take until it is ready.
const longestStart = 30 * time.Second

var listening = regexp.MustCompile(`msg="Listening on" url=(http://\S+)`)

// serves starts the node as the unit does, waits until the node is ready, and stops it.
func (m *machine) serves(t *testing.T) {
	t.Helper()
	cmd := m.command("sh", "-c", "umask 027 && cd /var/lib/tallyman && "+
		"exec setpriv --reuid tallyman --regid tallyman --init-groups /usr/bin/tallyman serve --config /etc/tallyman/tallyman.yaml --listen 127.0.0.1:0")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	var log strings.Builder
	var url string
	for url == "" && said.Scan() {
		log.WriteString(said.Text() + "\n")
		if found := listening.FindStringSubmatch(said.Text()); found != nil {
			url = found[1]
		}
	}
	if url == "" {
		t.Fatalf("the node did not start: %v\n%s", cmd.Wait(), log.String())
	}
	rest := make(chan struct{})
	go func() {
		defer close(rest)
		for said.Scan() {
			log.WriteString(said.Text() + "\n")
		}
	}()
	client := &http.Client{Timeout: 10 * time.Second}
	testenv.Eventually(t, func() bool {
		answer, err := client.Get(url + "/readyz")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}, longestStart)
	client.CloseIdleConnections()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-rest
	if err := cmd.Wait(); err != nil {
		t.Errorf("the node stopped with %v\n%s", err, log.String())
	}
}
