package rules

import (
	"errors"
	"io"
	"os"

	"tallyman/rules/strictyaml"
)

var errNoFile = errors.New("this is no regular file")

// Read returns what stands in a rule file or a rule test. What only looks like a file, such as a pipe, is read where it was named
// (its writer is at work), but not where it was met in a folder: nobody may ever write to it.
func Read(path string, named bool) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() {
		return os.ReadFile(path)
	}
	if !named {
		return nil, errNoFile
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, strictyaml.MaxSize+1)) // one byte more is refused as too large
}
