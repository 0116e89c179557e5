// Package systemd tells systemd what a service of Type=notify does: it is ready, it reloads, its loops turn, it stops.
//
// A [Manager] speaks to the socket that systemd names in NOTIFY_SOCKET. Other systems and a terminal have no such
// socket. There the Manager sends nothing, but Reload still reloads, and Watch still logs loops that are stuck. The
// protocol is sd_notify(3), by the package daemon of coreos/go-systemd.
//
// The package tells systemd's watchdog that the service lives only while no loop is stuck. The package restarts
// nothing: systemd restarts the service.
package systemd
