//go:build !race

package inbox

const raceFactor = 1
