package notice

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
	"time"
)

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// ID returns the id of a notice: the same for the same arguments on every node and after every restart, so
// that a firing which is repeated makes the same notices. episode is Notice.Episode, ordinal counts the
// reminders of one episode from 0.
func ID(rule, scope, key, episode string, status Status, ordinal int) string {
	return hashed("n_", rule, scope, key, episode, status, ordinal)
}

// EpisodeAt returns the episode of a finding, or of a digest, that the firing of that due time opened.
func EpisodeAt(due time.Time) string { return strconv.FormatInt(due.UnixMicro(), 10) }

// digest begins the ids of digests, so that they are told from those of the findings that they stand for: the key of a
// finding may read like that of a digest.
const digest = "nd_"

// DigestID is ID of a notice that stands for several findings or groups which are not told one by one.
func DigestID(rule, scope, key, episode string, status Status) string {
	return hashed(digest, rule, scope, key, episode, status, 0)
}

// IsDigest tells whether the id is one of DigestID.
func IsDigest(id string) bool { return strings.HasPrefix(id, digest) }

func hashed(prefix, rule, scope, key, episode string, status Status, ordinal int) string {
	sum := sha256.Sum256([]byte(strings.Join(
		[]string{rule, scope, key, episode, string(status), strconv.Itoa(ordinal)}, "\x00")))
	return prefix + idEncoding.EncodeToString(sum[:16])
}
