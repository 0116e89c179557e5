package session_test

import (
	"testing"

	"tallyman/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }
