// Package e2e runs whole nodes as processes of their own, on real servers, and ends them as machines do: with SIGKILL in
// the middle of anything, or with SIGTERM. Clients poll meanwhile, and in the end everybody must know the same. It has tests only.
package e2e
