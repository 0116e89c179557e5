//go:build race

package scannertest

const raceEnabled = true
