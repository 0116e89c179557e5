//go:build !linux

package testenv

import "os"

// serverFolder makes a folder for the files of a server.
func serverFolder(prefix string) (string, error) { return os.MkdirTemp("", prefix) }
