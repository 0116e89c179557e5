package inbox

import (
	stdflag "flag"
	"testing"

	"tallyman/internal/testenv"
)

func TestMain(m *testing.M) {
	// Each sequence of the model asks real servers, under -race slowly. -rapid.checks still wins, as in make soak.
	if err := stdflag.Set("rapid.checks", "40"); err != nil {
		panic(err)
	}
	testenv.Main(m)
}
