package test

import (
	"io"
	"log"
	"os"
	"testing"
)

// Helm says on each load that the chart has links.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}
