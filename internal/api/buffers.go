package api

import (
	"bytes"
	"sync"
)

// bufferPool lends the memory that answers are written into.
type bufferPool struct{ pool sync.Pool }

// buffers is shared, as a pool has to be.
var buffers bufferPool

// maxPooled keeps one large answer from holding its memory for good.
const maxPooled = 256 << 10

func (p *bufferPool) get() *bytes.Buffer {
	if b, ok := p.pool.Get().(*bytes.Buffer); ok {
		return b
	}
	return bytes.NewBuffer(make([]byte, 0, 16<<10))
}

func (p *bufferPool) put(b *bytes.Buffer) {
	if b.Cap() <= maxPooled {
		p.pool.Put(b)
	}
}
