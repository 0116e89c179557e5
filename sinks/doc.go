// Package sinks is the contract between the delivery loop and the places that notices go to.
//
// A Sink takes notices for others to fetch: the inbox, the queues. A Pusher sends them to an outside system. Each type
// of sink is a package below this one. It declares a Type: the settings with their defaults, bounds, checks and
// secrets, and how a channel is opened. A table in internal/app lists the types; nothing else knows them. The suite in
// sinktest checks every push channel against this contract.
//
// The package stores nothing and delivers nothing: package engine and package sinks/push do.
package sinks
