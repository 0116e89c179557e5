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

// digest is one notice for several messages of one warehouse, where there are more than the rule's limit.
type digest struct {
	warehouse string
	episode   string
	messages  []message // in the order of their keys
}

// limit divides what a pass has to tell: the first messages in the order of their keys are told one by one, the rest
// in one digest for each warehouse. What the rule tells of itself is not limited.
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

// ofRows is how many messages are about rows. What the rule tells of itself comes behind them.
func ofRows(all []message) int {
	rows := slices.IndexFunc(all, func(m message) bool { return catalog.Reserved(m.draft.Type.Code) })
	if rows < 0 {
		return len(all)
	}
	return rows
}

// askedAtOnce is how many notices are looked up together.
const askedAtOnce = 1000

// untold leaves out events that were told by notices of their own, where there are so many that some would be told in a
// digest. The ledger knows a notice that it has, but not what a digest tells: after a rewind the digest would tell
// these events again.
func (p *Pass) untold(ctx context.Context, all []message) ([]message, error) {
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
	p.told = len(told)
	list := make([]message, 0, len(all))
	for i := range all {
		if i >= rows || !told[ids[i]] {
			list = append(list, all[i])
		}
	}
	return list, nil
}

// ToldBefore is how many events Compose has left out, because they were told before.
func (p *Pass) ToldBefore() int { return p.told }

// idOf is the id of the notice that tells the message by itself.
func (p *Pass) idOf(m *message) string {
	return notice.ID(p.Rule.ID, p.Rule.Scope, m.key, m.episode, m.status, m.ordinal)
}

// digestEpisode tells the digests of a rule apart: the due time, and of a rule with a watermark also where the pass
// began, for a firing may take several passes. A repeated pass begins there again and makes the same digests.
func (p *Pass) digestEpisode(known *Snapshot) string {
	due := notice.EpisodeAt(p.Term, p.Due)
	if p.Rule.Probe.Watermark == nil {
		return due
	}
	text := []byte("[" + due)
	for _, v := range known.Watermark {
		text = v.AppendKey(append(text, ','))
	}
	if known.memory != nil { // a pass may find rows below the watermark alone, and leave the watermark as it is
		text = strconv.AppendInt(append(text, ','), known.memory.next, 10)
	}
	return string(append(text, ']'))
}

// digestNotice words a digest: of the type of the rule, with the data of the first message and the highest priority.
func (p *Pass) digestNotice(d *digest) *notice.Notice {
	first := d.messages[0]
	key := digestKey(d.warehouse)
	n := p.firstNotice(&message{key: key, episode: d.episode, status: first.status, draft: first.draft})
	n.ID = notice.DigestID(p.Rule.ID, p.Rule.Scope, key, d.episode, first.status)
	n.Count, n.Order = 0, "" // which of its findings is to be first, it does not say
	for _, m := range d.messages {
		n.Count += m.count
		n.Priority = max(n.Priority, m.draft.Priority)
	}
	n.Texts = map[string]notice.Text{"zh": p.digestText(d, "zh")} // the words are ours, whatever the rule speaks
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
		return `["digest"]` // two texts always have a JSON form
	}
	return string(key)
}

// The samples that a digest shows.
const (
	mostTitles = 5
	longTitle  = 200
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

// textIn are the words in the language, or those without one.
func textIn(d *rules.NoticeDraft, lang string) rules.Text {
	if text, ok := d.Texts[lang]; ok {
		return text
	}
	return d.Texts[""]
}
