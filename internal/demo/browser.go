package demo

import (
	"context"
	"os"
	"os/exec"
	"runtime"
)

// browse opens the address in the browser of whoever sits at this machine, as far as somebody does.
func browse(ctx context.Context, address string) {
	var program string
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program = "explorer"
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return // no screen: a server, or a session over SSH
		}
		program = "xdg-open"
	}
	command := exec.CommandContext(ctx, program, address) //nolint:gosec // one of three programs, and our own address
	if command.Start() == nil {                           // where it cannot be opened, the address stands in the output
		go func() { _ = command.Wait() }()
	}
}
