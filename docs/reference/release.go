package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra/doc"

	"tallyman/internal/cli"
)

// writeRelease writes what a release has of the command line: a man page for each command into FOLDER/man/man1, and
// completions into FOLDER/completions. The pages have the date of SOURCE_DATE_EPOCH.
func writeRelease(folder string) error {
	man, completions := filepath.Join(folder, "man", "man1"), filepath.Join(folder, "completions")
	for _, f := range []string{man, completions} {
		if err := os.MkdirAll(f, 0o755); err != nil { //nolint:gosec // a folder for everybody
			return fmt.Errorf("make a folder of the release: %w", err)
		}
	}
	root := cli.Root()
	root.DisableAutoGenTag = true // It has the time of the run.
	header := &doc.GenManHeader{Section: "1", Source: "Tallyman " + cli.Version, Manual: "Tallyman"}
	if err := doc.GenManTree(root, header, man); err != nil {
		return fmt.Errorf("man pages: %w", err)
	}
	for name, write := range map[string]func(file string) error{
		"tallyman.bash": func(file string) error { return root.GenBashCompletionFileV2(file, true) },
		"tallyman.zsh":  root.GenZshCompletionFile,
		"tallyman.fish": func(file string) error { return root.GenFishCompletionFile(file, true) },
		"tallyman.ps1":  root.GenPowerShellCompletionFileWithDesc,
	} {
		if err := write(filepath.Join(completions, name)); err != nil {
			return fmt.Errorf("completion %s: %w", name, err)
		}
	}
	return nil
}
