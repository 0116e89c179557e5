package cli

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// sockets has the socket of each script that plays systemd.
var sockets sync.Map

// listenAsSystemd opens a socket as systemd does for a service of Type=notify.
func listenAsSystemd(ts *testscript.TestScript, _ bool, args []string) {
	folder, err := os.MkdirTemp("", "systemd") // the name of a socket has a limit that the script's folder may exceed
	ts.Check(err)
	ts.Defer(func() { _ = os.RemoveAll(folder) })
	name := filepath.Join(folder, "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	ts.Check(err)
	ts.Defer(func() { _ = conn.Close() })
	ts.Setenv(args[0], name)
	sockets.Store(ts, conn)
}

// hangUp sends SIGHUP to the program in the background.
func hangUp(ts *testscript.TestScript, _ bool, _ []string) {
	running := ts.BackgroundCmds()
	if len(running) != 1 {
		ts.Fatalf("%d programs are in the background", len(running))
	}
	ts.Check(running[0].Process.Signal(syscall.SIGHUP))
}

// waitForState reads the states that the node sends to systemd. The node sends "WATCHDOG=1" again and again, so this
// state counts only where a script asks for it.
func waitForState(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile("^(?:" + args[0] + ")$")
	socket, _ := sockets.Load(ts)
	conn := socket.(*net.UnixConn) //nolint:forcetypeassert // listenAsSystemd has put it there
	ts.Check(conn.SetReadDeadline(time.Now().Add(longestWait)))
	for {
		var b [1000]byte
		n, err := conn.Read(b[:])
		if err != nil {
			ts.Fatalf("systemd was not told %s: %v", args[0], err)
		}
		state := strings.ReplaceAll(string(b[:n]), "\n", " ")
		if want.MatchString(state) {
			return
		}
		if state != "WATCHDOG=1" {
			ts.Fatalf("systemd was told %q, want %s", state, args[0])
		}
	}
}
