package testenv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// newPGServer makes a data folder and starts a server on it.
func newPGServer() (*PGServer, error) {
	inst, err := findPostgres()
	if err != nil {
		return nil, err
	}
	root, err := inst.tempDir()
	if err != nil {
		return nil, err
	}
	s := &PGServer{inst: inst, root: root, SocketDir: root}
	if err := inst.makeData(s.data()); err != nil {
		s.remove()
		return nil, err
	}
	for range 5 { // another process may take the port between the choice and the start
		if s.port, err = freePort(); err != nil {
			break
		}
		s.Addr = "127.0.0.1:" + strconv.Itoa(s.port)
		if err = s.start(); err == nil {
			return s, nil
		}
	}
	s.remove()
	return nil, err
}

func (s *PGServer) data() string { return filepath.Join(s.root, "data") }

// start starts the server. After a kill the first tries may fail, while old backends still end.
func (s *PGServer) start() error {
	var err error
	poll(func() bool {
		err = s.startOnce()
		return err == nil || !s.leftovers()
	}, startDeadline)
	return err
}

func (s *PGServer) startOnce() error {
	server, err := launch{
		path: s.inst.binary("postgres"),
		args: []string{
			"-D", s.data(), "-p", strconv.Itoa(s.port), "-k", s.root, "-h", "127.0.0.1",
			"-c", "max_connections=200", "-c", "fsync=on", "-c", "synchronous_commit=on",
		},
		dir: s.root, cred: s.inst.cred, death: syscall.SIGQUIT, // "immediate shutdown"
	}.start()
	if err != nil {
		return err
	}
	if err := server.ready(s.check); err != nil {
		server.kill()
		return err
	}
	s.server = server
	return nil
}

// leftovers tells whether the start failed because backends of the killed server still live.
func (s *PGServer) leftovers() bool {
	b, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	return err == nil && len(b) > 0
}

// check tells whether it is this server that answers, not a stranger on the same port.
func (s *PGServer) check() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(ctx) }()
	var dir string
	if err := c.QueryRow(ctx, "SHOW data_directory").Scan(&dir); err != nil {
		return err
	}
	if dir != s.data() {
		return fmt.Errorf("another server answers on %s", s.Addr)
	}
	return nil
}

// remove stops the server and deletes its files.
func (s *PGServer) remove() {
	if s.server != nil {
		s.server.end(syscall.SIGQUIT) // nothing of it is kept, so it need not shut down cleanly
		s.server = nil
	}
	_ = os.RemoveAll(s.root)
}
