// Package systemd tells systemd what a service of Type=notify does: it is ready, it reloads, its loops turn, it stops.
//
// A [Manager] speaks to the socket that systemd names in NOTIFY_SOCKET. Where there is no such socket, as on other
// systems and in a terminal, its methods do nothing but their own work. The protocol is sd_notify(3), by the package
// daemon of coreos/go-systemd.
//
// The package promises that systemd's watchdog hears of the service only while no loop is stuck. It restarts nothing
// itself: systemd does.
package systemd
