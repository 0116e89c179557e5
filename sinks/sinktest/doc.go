// Package sinktest holds what every sink must pass, and a sink that fails when a test wants it to.
package sinktest
