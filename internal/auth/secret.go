package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"hash/crc32"
	"strings"
)

// SecretPrefix begins every API token, so that people and scanners of source code know one when they see it.
const SecretPrefix = "tly_"

const (
	secretBytes = 20 // random ones: 160 bits
	sumBytes    = 4
	idPrefix    = "t_"
	idLength    = 12
)

// alphabet has no upper case, so that a token is one word for a double click and survives being read out.
var alphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// secretLength is that of a whole token.
var secretLength = len(SecretPrefix) + alphabet.EncodedLen(secretBytes+sumBytes)

// NewSecret makes the text of an API token: the prefix, random bytes, and a checksum of them.
func NewSecret() string {
	b := make([]byte, secretBytes, secretBytes+sumBytes)
	_, _ = rand.Read(b) // never fails
	return SecretPrefix + alphabet.EncodeToString(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// whole tells whether a text that begins with the prefix is one that NewSecret can have made, so that one that was cut or mistyped is known
// without a look at the others.
func whole(secret string) bool {
	if len(secret) != secretLength {
		return false
	}
	b, err := alphabet.DecodeString(strings.TrimPrefix(secret, SecretPrefix))
	return err == nil && len(b) == secretBytes+sumBytes &&
		binary.BigEndian.Uint32(b[secretBytes:]) == crc32.ChecksumIEEE(b[:secretBytes])
}

// HashSecret is what is kept of an API token. It has more random bits than anybody can try, so that a fast hash is as good as a slow one.
func HashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// tokenID is the public name of the token with that hash.
func tokenID(hash []byte) string { return idPrefix + alphabet.EncodeToString(hash)[:idLength] }
