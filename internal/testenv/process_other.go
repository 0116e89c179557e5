//go:build !linux

package testenv

import "syscall"

// setDeathSignal does nothing: only Linux tells a child that its parent died.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}

// childrenOf returns no process, because the children of a killed server end by themselves.
func childrenOf(int) []int { return nil }
