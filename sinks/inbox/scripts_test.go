package inbox

import (
	"testing"

	"tallyman/internal/testenv"
)

func TestScriptsHaveNoGlobals(t *testing.T) {
	t.Parallel()
	testenv.CheckScripts(t, "scripts")
}
