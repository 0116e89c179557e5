package testenv

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// SmallDisk gives the server a disk of its own. size is in the form of tmpfs, such as "64m". It returns the folder of
// the disk and the URL of a fresh database on it. It skips the test where the process may not mount, since only root
// may.
func (s *PGServer) SmallDisk(t testing.TB, size string) (folder, url string) {
	t.Helper()
	folder = filepath.Join(s.root, "disk")
	if err := errors.Join(os.Mkdir(folder, 0o700), s.inst.own(folder)); err != nil {
		t.Fatal(err)
	}
	err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size="+size)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skip("no disk of its own without the right to mount")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // Runs before the server's own cleanup, which removes the folders.
		s.Stop()
		_ = syscall.Unmount(folder, syscall.MNT_DETACH)
	})
	space, name := filepath.Join(folder, "space"), s.nextName()
	if err := errors.Join(os.Mkdir(space, 0o700), s.inst.own(space)); err != nil {
		t.Fatal(err)
	}
	if err := s.exec("CREATE TABLESPACE small LOCATION '" + space + "'"); err != nil {
		t.Fatal(err)
	}
	if err := s.exec("CREATE DATABASE " + name + " TABLESPACE small"); err != nil {
		t.Fatal(err)
	}
	return folder, s.URL(name)
}

// Fill writes a file to the folder until its disk is full. Removing the file frees the disk.
func Fill(t testing.TB, folder string) (file string) {
	t.Helper()
	f, err := os.Create(filepath.Join(folder, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for size := 1 << 20; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return f.Name()
}
