//go:build race

package inbox

// raceFactor is how much longer things may take under the race detector.
const raceFactor = 4
