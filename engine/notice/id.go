package notice

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
)

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// ID returns the id of a notice: the same for the same arguments on every node and after every restart, so
// that a firing which is repeated makes the same notices. episode is Notice.Episode, ordinal counts the
// reminders of one episode from 0.
func ID(rule, scope, key, episode string, status Status, ordinal int) string {
	sum := sha256.Sum256([]byte(strings.Join(
		[]string{rule, scope, key, episode, string(status), strconv.Itoa(ordinal)}, "\x00")))
	return "n_" + idEncoding.EncodeToString(sum[:16])
}
