package recovery

import (
	"crypto/rand"
	"encoding/base32"
	"strconv"
	"strings"
)

// NoEpoch is what is found where Redis names no epoch.
const NoEpoch = "none"

// EpochError says that something in Redis is not in the epoch that the caller believes in.
type EpochError struct{ Found string }

func (e *EpochError) Error() string { return "the index is at epoch " + e.Found }

// Known gives the error of a script its type: one that begins with EPOCH, as the scripts' headers say, is an EpochError.
func Known(err error) error {
	if err == nil {
		return nil
	}
	if found, ok := strings.CutPrefix(err.Error(), "EPOCH "); ok {
		return &EpochError{Found: found}
	}
	return err
}

// nextEpoch is <number>-<random>: the number is above all that were seen, the rest tells apart nodes that count alike.
func (k *Keeper) nextEpoch(seen ...string) string {
	n := k.newest.Load()
	for _, epoch := range seen {
		n = max(n, EpochNumber(epoch))
	}
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails
	return strconv.FormatInt(n+1, 10) + "-" + strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// EpochNumber tells which of two epochs is the newer one. It is 0 for what is no epoch.
func EpochNumber(epoch string) int64 {
	number, _, _ := strings.Cut(epoch, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
