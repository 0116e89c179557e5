// Package packages has the parts of the deb and the rpm: the unit of systemd, the configuration of nfpm, and the
// scripts that dpkg and rpm run. Its tests build the packages, and install, upgrade and purge the deb.
package packages
