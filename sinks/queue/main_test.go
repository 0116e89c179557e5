package queue

import (
	"flag"
	"testing"

	"tallyman/internal/testenv"
)

func TestMain(m *testing.M) {
	// Each sequence of the model asks real servers, under -race slowly. -rapid.checks still wins, as in make soak.
	if err := flag.Set("rapid.checks", "60"); err != nil {
		panic(err)
	}
	testenv.Main(m)
}
