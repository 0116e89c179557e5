package queue

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"time"
)

const (
	idTime   = 6  // bytes of the time in an id: ms
	idRandom = 10 // bytes of chance behind them
)

// lowerBase32 keeps the order of what it encodes.
var lowerBase32 = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// newIDs names the items of a push that came without names. An id begins with the time, so that the index of ids in the ledger
// grows at its end: what lies anywhere in it costs more, the more there is.
type newIDs struct {
	at     time.Time
	random []byte // for those that are to come
}

// next returns another id. More is how many the push may want, this one among them.
func (n *newIDs) next(more int) string {
	if len(n.random) == 0 {
		n.random = make([]byte, more*idRandom)
		_, _ = rand.Read(n.random) // never fails
	}
	var b [8 + idRandom]byte
	binary.BigEndian.PutUint64(b[:], uint64(n.at.UnixMilli()))
	copy(b[8:], n.random)
	n.random = n.random[idRandom:]
	var text [32]byte
	return string(lowerBase32.AppendEncode(append(text[:0], "i_"...), b[8-idTime:]))
}
