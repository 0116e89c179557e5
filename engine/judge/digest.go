package judge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/catalog"
)

// digest is one notice for several messages of one warehouse. A pass makes digests when it has more messages than
// limit.notices allows.
type digest struct {
	warehouse string
	episode   string
	messages  []message // In the order of their keys.
}

// limit divides the messages of a pass. The first messages, in the order of their keys, become notices of their own.
// The rest go into one digest for each warehouse. Messages about the rule itself are not limited.
func (p *Pass) limit(known *Snapshot, all []message) (alone []message, digests []digest) {
	most, rows := p.Rule.Limit.Notices, ofRows(all)
	if most == 0 || rows <= most {
		return all, nil
	}
	sorted := slices.Clone(all[:rows])
	slices.SortFunc(sorted, func(a, b message) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.episode, b.episode))
	})
	byWarehouse := map[string][]message{}
	for _, m := range sorted[most:] {
		byWarehouse[m.draft.Warehouse] = append(byWarehouse[m.draft.Warehouse], m)
	}
	for _, name := range slices.Sorted(maps.Keys(byWarehouse)) {
		digests = append(digests, digest{name, p.digestEpisode(known), byWarehouse[name]})
	}
	return append(slices.Clip(sorted[:most]), all[rows:]...), digests
}

// ofRows returns how many messages are about rows. The messages after them are about the rule itself.
func ofRows(all []message) int {
	rows := slices.IndexFunc(all, func(m message) bool { return catalog.Reserved(m.draft.Type.Code) })
	if rows < 0 {
		return len(all)
	}
	return rows
}

// askedAtOnce is the largest number of notices in one read from the ledger.
const askedAtOnce = 1000

// dropSentEvents leaves out events that have a notice of their own already, if the pass would make a digest. After a
// rewind a rule finds old events again. The ledger recognises a repeated notice by its id, but not an event inside a
// digest. Without dropSentEvents a digest would report these events a second time.
func (p *Pass) dropSentEvents(ctx context.Context, all []message) ([]message, error) {
	rows := ofRows(all)
	if p.Rule.Mode != rules.ModeEvent || p.Rule.Limit.Notices == 0 || rows <= p.Rule.Limit.Notices {
		return all, nil
	}
	told := map[string]bool{}
	ids := make([]string, rows)
	for i := range ids {
		ids[i] = p.idOf(&all[i])
	}
	for some := range slices.Chunk(ids, askedAtOnce) {
		notices, err := p.Notices(ctx, some)
		if err != nil {
			return nil, fmt.Errorf("reading the notices of events: %w", err)
		}
		for id := range notices {
			told[id] = true
		}
	}
	p.sentBefore = len(told)
	list := make([]message, 0, len(all))
	for i := range all {
		if i >= rows || !told[ids[i]] {
			list = append(list, all[i])
		}
	}
	return list, nil
}

// ToldBefore returns how many events Compose has left out because they have a notice already.
func (p *Pass) ToldBefore() int { return p.sentBefore }

// idOf returns the id of the message's own notice.
func (p *Pass) idOf(m *message) string {
	return notice.ID(p.Rule.ID, p.Rule.Scope, m.key, m.episode, m.status, m.ordinal)
}

// digestEpisode returns the episode of the pass's digests. No other pass of the rule has the same episode. The episode
// has the due time. For a rule with a watermark it also has the position at which the pass began, because a firing may
// have several passes. A repeated pass begins at the same position again and makes the same digests.
func (p *Pass) digestEpisode(known *Snapshot) string {
	due := notice.EpisodeAt(p.Term, p.Due)
	if p.Rule.Probe.Watermark == nil {
		return due
	}
	text := []byte("[" + due)
	for _, v := range known.Watermark {
		text = v.AppendKey(append(text, ','))
	}
	if known.memory != nil { // A pass may find only rows below the watermark, and so leave the watermark as it is.
		text = strconv.AppendInt(append(text, ','), known.memory.next, 10)
	}
	return string(append(text, ']'))
}

// digestNotice makes the notice of a digest: with the data of the first message and the highest priority of all.
func (p *Pass) digestNotice(d *digest) *notice.Notice {
	first := d.messages[0]
	key := digestKey(d.warehouse)
	n := p.firstNotice(&message{key: key, episode: d.episode, status: first.status, draft: first.draft})
	n.ID = notice.DigestID(p.Rule.ID, p.Rule.Scope, key, d.episode, first.status)
	n.Count, n.Order = 0, "" // A digest has no order, since its findings may have different ones.
	for _, m := range d.messages {
		n.Count += m.count
		n.Priority = max(n.Priority, m.draft.Priority)
	}
	// The words of a digest are Tallyman's own, so English and Chinese are always there. Without a text for English, a
	// reader who prefers English to Chinese would get Chinese.
	n.Texts = map[string]notice.Text{"en": p.digestText(d, "en"), "zh": p.digestText(d, "zh")}
	for lang := range first.draft.Texts {
		if lang != "" {
			n.Texts[lang] = p.digestText(d, lang)
		}
	}
	text := p.digestText(d, "")
	n.Title, n.Body = text.Title, text.Body
	return n
}

func digestKey(warehouse string) string {
	key, err := json.Marshal([]string{"digest", warehouse})
	if err != nil {
		return `["digest"]` // Not expected: every text has a JSON form.
	}
	return string(key)
}

// The bounds of the titles that a digest shows.
const (
	mostTitles = 5
	longTitle  = 200 // bytes
)

func (p *Pass) digestText(d *digest, lang string) notice.Text {
	name := cmp.Or(p.Rule.Title, p.Rule.ID)
	title, more := "%d more: %s", "… and %d more"
	if chinese(lang) {
		title, more = "另有 %d 条：%s", "……以及另外 %d 条"
	}
	var lines []string
	for _, m := range d.messages[:min(mostTitles, len(d.messages))] {
		lines = append(lines, Cut(textIn(m.draft, lang).Title, longTitle))
	}
	if rest := len(d.messages) - mostTitles; rest > 0 {
		lines = append(lines, fmt.Sprintf(more, rest))
	}
	return notice.Text{Title: fmt.Sprintf(title, len(d.messages), name), Body: strings.Join(lines, "\n")}
}

// textIn returns the text in the language, or the text without a language.
func textIn(d *rules.NoticeDraft, lang string) rules.Text {
	if text, ok := d.Texts[lang]; ok {
		return text
	}
	return d.Texts[""]
}
