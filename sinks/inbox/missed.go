package inbox

import (
	"context"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"tallyman/sinks/inbox/page"
)

// mostMissed is how many notices are counted in one inbox that a reader has missed; the log of an inbox remembers as many scores.
const mostMissed = 1000

// missed counts the notices that were delivered after the reader's cursor and that no page will have from here on: the cap removed
// them, or they are older than the window that the reader begins anew with. It is -1 where that is not known: with a filter, for
// a cursor of another query, or where an inbox has lost more than its log remembers.
func (in *Inbox) missed(ctx context.Context, r *reader, reason page.ResetReason, s *slice) (int, error) {
	switch reason {
	case page.ResetTrimmed, page.ResetTooOld, page.ResetTooManyChanges, page.ResetIndexRebuilt:
	default:
		return -1, nil
	}
	if len(r.Types) > 0 || r.Unread {
		return -1, nil
	}
	if len(s.removed) == 0 { // the warehouse never had a notice
		return 0, nil
	}
	begins := s.now - window.Microseconds() // the score of the first notice that the reader gets
	logs := make([]*redis.StringSliceCmd, len(s.removed))
	old := make([]*redis.ZSliceCmd, len(s.removed))
	there := make([]*redis.ZSliceCmd, len(s.removed))
	_, err := in.o.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, one := range r.Subscribers {
			inbox := in.keys.inbox(r.Warehouse, one)
			if s.removed[i] > r.told(i) {
				logs[i] = p.LRange(ctx, in.keys.log(r.Warehouse, one), 0, -1)
			}
			if r.cursor.Score+1 < begins {
				old[i] = p.ZRangeByScoreWithScores(ctx, inbox, &redis.ZRangeBy{
					Min: "(" + formatScore(r.cursor.Score), Max: "(" + formatScore(begins), Count: mostMissed + 1,
				})
			}
			if lost := slices.Max(s.removed); len(s.removed) > 1 && lost >= begins && lost > r.cursor.Score {
				there[i] = p.ZRangeByScoreWithScores(ctx, inbox, &redis.ZRangeBy{
					Min: formatScore(max(begins, r.cursor.Score+1)), Max: formatScore(lost), Count: mostMissed + 1,
				})
			}
		}
		return nil
	})
	if err != nil {
		return -1, err
	}
	missed := map[int64]bool{}
	for i, cmd := range logs {
		if cmd == nil {
			continue
		}
		scores := cmd.Val()
		known := len(scores) < mostMissed
		for _, text := range scores {
			score, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return -1, err
			}
			known = known || score <= r.told(i)
			if score > r.told(i) && score <= s.removed[i] {
				missed[score] = true
			}
		}
		if !known {
			return -1, nil
		}
	}
	for _, cmd := range old {
		if !each(cmd, func(score int64) { missed[score] = true }) {
			return -1, nil
		}
	}
	for _, cmd := range there {
		if !each(cmd, func(score int64) { delete(missed, score) }) {
			return -1, nil
		}
	}
	return len(missed), nil
}

// told is the score up to which the reader's cursor knows what an inbox has lost.
func (r *reader) told(inbox int) int64 {
	score := r.cursor.Score
	for _, gone := range r.cursor.Removed {
		if gone.Inbox == inbox {
			score = max(score, gone.Score)
		}
	}
	return score
}

// each calls f with the scores of an answer. It reports whether these are all.
func each(cmd *redis.ZSliceCmd, f func(score int64)) bool {
	if cmd == nil {
		return true
	}
	list := cmd.Val()
	for _, z := range list {
		f(int64(z.Score))
	}
	return len(list) <= mostMissed
}
