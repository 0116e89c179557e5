package mail

import (
	"context"
	"errors"
	netmail "net/mail"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// Servers dislike those that stay for long and say nothing, and those that send on and on.
const (
	maxIdle     = 8                // sessions that wait
	idleFor     = 20 * time.Second // how long they wait
	maxASession = 100              // mails
)

// pool keeps sessions for the mails to come, so that not each needs a handshake of its own.
type pool struct {
	dial func(context.Context) (*session, error)

	mu     sync.Mutex
	idle   []*session
	closed bool
}

func newPool(dial func(context.Context) (*session, error)) *pool { return &pool{dial: dial} }

// send sends the mail over a session that waits, or a new one.
func (p *pool) send(ctx context.Context, from string, to []*netmail.Address, msg *gomail.Msg) (*answer, error) {
	s, err := p.get(ctx)
	if err != nil {
		return nil, err
	}
	a, err := s.send(ctx, from, to, msg)
	if errors.Is(err, errBroken) {
		_ = s.conn.Close()
	} else {
		p.put(s)
	}
	return a, err
}

// get returns a session that is known to work: the one that waited least, since it is the likeliest to.
func (p *pool) get(ctx context.Context) (*session, error) {
	for s := p.take(); s != nil; s = p.take() {
		if s.usable(ctx) {
			return s, nil
		}
		_ = s.conn.Close()
	}
	return p.dial(ctx)
}

func (p *pool) take() *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := len(p.idle); n > 0; n = len(p.idle) {
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if s.idle.Stop() {
			return s
		} // else its time is over, and the timer closes it
	}
	return nil
}

func (p *pool) put(s *session) {
	p.mu.Lock()
	keep := !p.closed && s.sent < maxASession && len(p.idle) < maxIdle
	if keep {
		s.idle = time.AfterFunc(idleFor, func() { p.drop(s) })
		p.idle = append(p.idle, s)
	}
	p.mu.Unlock()
	if !keep {
		s.close()
	}
}

// drop ends a session whose time is over.
func (p *pool) drop(s *session) {
	p.mu.Lock()
	for i, other := range p.idle {
		if other == s {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			break
		}
	}
	p.mu.Unlock()
	s.close()
}

// close ends the sessions that wait; those at work end when they are done.
func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, s := range idle {
		if s.idle.Stop() {
			s.close()
		}
	}
}
