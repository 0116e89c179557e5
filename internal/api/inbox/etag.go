package inbox

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"tallyman/internal/api"
	"tallyman/sinks/inbox/page"
)

// An entity tag is "<version>-<this>-<next>": the version of the inboxes, the identity of the request that it was
// given to, and the identity of the request that follows with the page's cursor. So a client that polls on with the
// cursor and the tag of its last page is answered 304 at once while nothing is new, as is one that repeats
// itself; but a tag is never taken for another warehouse, form or language. A page that has more behind it gets no
// next.

const identityLen = 16

// identity hashes what an answer depends on besides the version of the inboxes.
type identity uint64

// identify is FNV-1a over the request's fields. A collision would need the client's own help and hurt only itself.
func identify(q *page.Query, m api.Media, language string) identity {
	h := fnvOffset
	h = h.add(q.Warehouse)
	for _, s := range q.Subscribers {
		h = h.add(s)
	}
	h = h.add("")
	for _, s := range q.Types {
		h = h.add(s)
	}
	h = h.add(strconv.FormatBool(q.Unread)).add(string(m)).add(language).add(q.After)
	return h.add(strconv.FormatInt(q.Since, 10)).add(strconv.Itoa(q.Limit))
}

const (
	fnvOffset identity = 14695981039346656037
	fnvPrime  identity = 1099511628211
)

// add takes a string and its end, so that ("a","bc") and ("ab","c") differ.
func (h identity) add(s string) identity {
	for i := range len(s) {
		h = (h ^ identity(s[i])) * fnvPrime
	}
	return (h ^ 0xff) * fnvPrime // 0xff is in no UTF-8 text
}

// tagOf is the tag of a page that answers the request this. next is 0 where more follows.
func tagOf(version string, this, next identity) string {
	b := make([]byte, 0, len(version)+2*identityLen+4)
	b = append(b, '"')
	b = append(b, version...)
	b = append(b, '-')
	b = this.append(b)
	b = append(b, '-')
	b = next.append(b)
	return string(append(b, '"'))
}

func (h identity) append(b []byte) []byte {
	return hex.AppendEncode(b, binary.BigEndian.AppendUint64(make([]byte, 0, 8), uint64(h)))
}

// matchTag finds in an If-None-Match header the tag that says: the client has what this request would be answered
// at this version. It returns "" where there is none.
func matchTag(header, version string, this identity) string {
	var buf [identityLen]byte
	want := string(this.append(buf[:0]))
	for tag := range strings.SplitSeq(header, ",") {
		tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
		if len(tag) != len(version)+2*identityLen+4 || tag[0] != '"' || tag[len(tag)-1] != '"' || tag[1:1+len(version)] != version {
			continue
		}
		tail := tag[1+len(version) : len(tag)-1]
		if tail[0] != '-' || tail[identityLen+1] != '-' {
			continue
		}
		if tail[1:identityLen+1] == want || tail[identityLen+2:] == want {
			return tag
		}
	}
	return ""
}
