package notice

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Status is the kind of a notice.
type Status string

// The statuses.
const (
	Firing   Status = "firing"
	Resolved Status = "resolved"
	Event    Status = "event" // a row of a rule of mode event
	Sent     Status = "sent"  // a notice that a business system sent
)

// Notice is one notice with typed fields. Its JSON, XML and protobuf forms carry the same names.
type Notice struct {
	ID        string
	Type      string
	TypeID    int64
	Warehouse string
	Rule      string
	Scope     string
	Key       string // canonical JSON array
	// Opaque to clients. For a finding: the due time (µs) of the firing that opened the finding. For an event: its
	// watermark values as an array. In a clock term after 0, both begin with the term: see InTerm. For a sent notice: a
	// name of the request.
	Episode  string
	Status   Status
	Priority int // 1 (low) … 5 (high)
	// Order of the items that queues make from the notice, within the priority: a number as item.ServiceOrder writes
	// it; "" = none.
	Order     string
	Modal     string // silent | popup
	Title     string
	Body      string
	Texts     map[string]Text // translations by language
	Data      []Field
	Labels    map[string]string
	Count     int       // number of findings that the notice reports
	CreatedAt time.Time // µs
	ExpiresAt time.Time // µs
}

// Text is a translation of title and body.
type Text struct {
	Title string
	Body  string
}

// Field is one typed value of the data, in the order of the catalogue. Value is nil, string, int64 or bool. Decimals
// and times are strings; a time is in RFC 3339, in UTC.
type Field struct {
	Name  string
	Value any
}

// View is a notice as one reader sees it.
type View struct {
	*Notice
	Score int64 // value of the warehouse clock at the delivery, µs
	Read  bool
	Acked bool
}

// ID returns the id of a notice. The same arguments give the same id on every node and after every restart, so that a
// repeated firing makes the same notices. episode is Notice.Episode; ordinal counts the reminders of one episode from
// 0. The id begins with the Day of the episode.
func ID(rule, scope, key, episode string, status Status, ordinal int) string {
	return hashed("n_", rule, scope, key, episode, status, ordinal)
}

// EpisodeAt returns the episode of a finding or a digest. The firing with this clock term and due time has opened the
// finding or the digest.
func EpisodeAt(term int64, due time.Time) string {
	return InTerm(term, strconv.FormatInt(due.UnixMicro(), 10))
}

// InTerm adds the clock term to an episode, because the ledger's clock may show the same time again in a later term.
// Term 0, the first, adds nothing.
func InTerm(term int64, episode string) string {
	if term == 0 {
		return episode
	}
	return strconv.FormatInt(term, 10) + ":" + episode
}

// Beginning is the time when an episode of a finding began. After compares the beginnings of two episodes.
type Beginning struct {
	Term int64 // term of the ledger's clock
	Due  int64 // µs
}

// ParseEpisode is the reverse of EpisodeAt. It returns false for the episodes of events, of digests with a watermark,
// and of sent notices.
func ParseEpisode(episode string) (Beginning, bool) {
	var b Beginning
	number, due, isLater := strings.Cut(episode, ":")
	if !isLater {
		due = number
	} else if term, err := strconv.ParseInt(number, 10, 64); err != nil || term < 1 {
		return Beginning{}, false
	} else {
		b.Term = term
	}
	var err error
	b.Due, err = strconv.ParseInt(due, 10, 64)
	return b, err == nil
}

// After tells whether the episode began after the other one.
func (b Beginning) After(other Beginning) bool {
	return b.Term > other.Term || b.Term == other.Term && b.Due > other.Due
}

// digest is the prefix of the ids of digests. It distinguishes the id of a digest from the id of a finding's notice,
// because a finding may have the same key as a digest.
const digest = "nd_"

// DigestID is ID for a digest: a notice that reports several findings or groups together.
func DigestID(rule, scope, key, episode string, status Status) string {
	return hashed(digest, rule, scope, key, episode, status, 0)
}

// IsDigest tells whether the id was made by DigestID.
func IsDigest(id string) bool { return strings.HasPrefix(id, digest) }

func hashed(prefix, rule, scope, key, episode string, status Status, ordinal int) string {
	sum := sha256.Sum256([]byte(strings.Join(
		[]string{rule, scope, key, episode, string(status), strconv.Itoa(ordinal)}, "\x00")))
	day := keyed
	if began, ok := ParseEpisode(episode); ok && prefix != digest {
		day = DayOf(time.UnixMicro(began.Due)).letters()
	}
	return (prefix + day + idEncoding.EncodeToString(sum[:16]))[:len(prefix)+idLength]
}

// Origin identifies what made a notice: a run, or a request of a business system. It is a hash of fields that every
// notice carries. So any node can compute it, even hours later, and nothing is stored for it. Logs show ID. Traces
// have ID as their id, and Span as the id of their first span.
type Origin struct {
	ID   [16]byte
	Span [8]byte
}

// String returns the id in hexadecimal, as in logs and traces.
func (o Origin) String() string { return fmt.Sprintf("%x", o.ID) }

// RunOrigin returns the origin of the notices of a run. started is the start of the pass by the clock of the rules, to
// the µs. The notices of the pass have it as CreatedAt. The notices of the run have the same time as CreatedAt.
func RunOrigin(rule, scope string, started time.Time) Origin {
	return originOf("run", rule, scope, strconv.FormatInt(started.UnixMicro(), 10))
}

// Origin returns the origin of the notice.
func (n *Notice) Origin() Origin {
	if n.Status == Sent {
		return originOf("request", n.Episode)
	}
	return RunOrigin(n.Rule, n.Scope, n.CreatedAt)
}

func originOf(parts ...string) Origin {
	h := sha256.New()
	for _, p := range parts {
		_, _ = h.Write([]byte(strconv.Itoa(len(p)) + ":" + p))
	}
	sum := h.Sum(nil)
	var o Origin
	copy(o.ID[:], sum)
	copy(o.Span[:], sum[len(o.ID):])
	return o
}

// Localize returns the notice with title and body in the language of the tag, e.g. zh-CN: an exact translation, else
// one for the language without its region, else the notice unchanged. Where a translation lacks the title or the
// body, the notice keeps its own. The case of tags does not matter; of
// several tags that differ only in case the first in byte order counts.
func (n *Notice) Localize(lang string) *Notice {
	for tag := lang; tag != ""; tag = parent(tag) {
		if t, ok := n.text(tag); ok {
			return n.with(t)
		}
	}
	return n
}

func (n *Notice) text(tag string) (Text, bool) {
	if t, ok := n.Texts[tag]; ok {
		return t, true
	}
	found := ""
	for lang := range n.Texts {
		if strings.EqualFold(lang, tag) && (found == "" || lang < found) {
			found = lang
		}
	}
	return n.Texts[found], found != ""
}

func (n *Notice) with(t Text) *Notice {
	c := *n
	if t.Title != "" {
		c.Title = t.Title
	}
	if t.Body != "" {
		c.Body = t.Body
	}
	return &c
}

// parent removes the last part of a language tag: zh-Hant-TW, zh-Hant, zh, "".
func parent(tag string) string {
	i := strings.LastIndexAny(tag, "-_")
	if i < 0 {
		return ""
	}
	return tag[:i]
}
