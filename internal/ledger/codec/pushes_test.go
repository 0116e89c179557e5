package codec

import (
	"math"
	"testing"
	"time"

	"tallyman/internal/delivery"
)

func TestNewSettle(t *testing.T) {
	t.Parallel()
	const taken = " 0 0 \n"
	s := NewSettle([]delivery.Settlement{
		{Seq: 1, Token: 1, Kind: delivery.SettleAgain, Attempt: delivery.Attempt{Error: "a\x00"}, After: math.MaxInt64},
		{Seq: 2, Token: 2, Kind: delivery.SettleSent},
		{Seq: 2, Token: 3, Kind: delivery.SettleFailed},
		{Seq: 3, Token: 4, Kind: delivery.SettleSent},
		{Seq: 3, Token: 4, Kind: delivery.SettleSent},
		{Seq: 4, Token: 5, Kind: delivery.SettleFailed, Attempt: delivery.Attempt{Error: "first"}},
		{Seq: 4, Token: 6, Kind: delivery.SettleFailed, Attempt: delivery.Attempt{Error: "last"}},
		{Seq: 5, Token: 7, Kind: delivery.SettleRelease, After: -time.Second},
		{Seq: 6, Token: 8, Kind: 99},
	})
	equal(t, &Settle{
		Sent: SettleColumns{
			Seqs: []int64{2, 3}, Tokens: []int64{2, 4}, Errors: []string{"", ""}, After: []int64{0, 0}, Ago: []int64{0, 0}, Attempts: []string{taken, taken},
		},
		Failed:  SettleColumns{Seqs: []int64{4}, Tokens: []int64{6}, Errors: []string{"last"}, After: []int64{0}, Ago: []int64{0}, Attempts: []string{" 0 0 last\n"}},
		Again:   SettleColumns{Seqs: []int64{1}, Tokens: []int64{1}, Errors: []string{"a\uFFFD"}, After: []int64{farthest.Microseconds()}, Ago: []int64{0}, Attempts: []string{" 0 0 a\uFFFD\n"}},
		Release: SettleColumns{Seqs: []int64{5}, Tokens: []int64{7}, Errors: []string{""}, After: []int64{0}, Ago: []int64{0}, Attempts: []string{""}},
	}, s)
	equal(t, []int64{2, 3, 4}, s.Ended())
	equal(t, []int64{2, 3, 4, 1, 5}, s.All())
}

func TestClaimsOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	list := []delivery.PushClaim{{Token: 1}}
	us := now.UnixMicro()
	for _, c := range []struct {
		limit int
		next  int64
		want  delivery.Claims
	}{
		{2, 0, delivery.Claims{}},
		{2, Behind, delivery.Claims{}},
		{2, us + 1000, delivery.Claims{Next: time.Millisecond}},
		{1, 0, delivery.Claims{More: true}},
		{2, us, delivery.Claims{Next: soon}}, // due, but another node is just claiming it
		{2, us - 1, delivery.Claims{Next: soon}},
	} {
		c.want.At, c.want.List = now, list
		equal(t, c.want, ClaimsOf(list, c.limit, us, c.next))
	}
}
