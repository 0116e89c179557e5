package designs

import (
	"encoding/xml"
	"strconv"
	"sync"
	"testing"

	"tallyman/internal/testenv"
)

// pack is the answer that the old client knows.
type pack struct {
	Unread        int `xml:"unreadCount"`
	Notifications []struct {
		ID         string `xml:"id"`
		CreateTime int64  `xml:"createTime"`
	} `xml:"notifications>notification"`
}

// window is the old client. All that it keeps is the largest createTime that it has seen; shown is what it has put on the screen.
type window struct {
	chapter *chapter
	seen    int64
	shown   map[string]int // id → how often
}

const pollCall = `curl "$TALLYMAN_SERVER/api/v1/legacy/listNotifications?whId=119240&subscriberIdList=1&roleIdList=7&lastFetchTimeStamp=$SEEN"`

// poll asks for what is new and shows it.
func (w *window) poll() pack {
	w.chapter.t.Helper()
	w.chapter.vars["SEEN"] = strconv.FormatInt(w.seen, 10)
	p := parsePack(w.chapter.t, w.chapter.do(w.chapter.find(pollCall)))
	for _, n := range p.Notifications {
		w.seen = max(w.seen, n.CreateTime)
		w.shown[n.ID]++
	}
	return p
}

func parsePack(t *testing.T, text string) pack {
	t.Helper()
	var p pack
	if err := xml.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return p
}

// The window shows each notice once, however many senders there are, and leaves out what its user has read.
func playWindow(c *chapter) {
	const senders, each = 4, 10
	c.vars["SEEN"] = "0"
	sent := first(c.run("tallyman notices send"))
	c.await(pollCall)

	w := &window{chapter: c, shown: map[string]int{}}
	send := c.find("tallyman notices send")
	var sending sync.WaitGroup
	for range senders {
		sending.Go(func() {
			for range each {
				c.do(send)
			}
		})
	}
	testenv.Eventually(c.t, func() bool { w.poll(); return len(w.shown) > senders*each }, answerTime)
	sending.Wait()
	if p := w.poll(); len(p.Notifications) > 0 || p.Unread != senders*each+1 {
		c.t.Errorf("afterwards %+v", p)
	}
	for id, times := range w.shown {
		if times != 1 {
			c.t.Errorf("the window shows %s %d times", id, times)
		}
	}

	c.vars["ID"] = sent
	c.run("curl -X POST")
	everything := window{chapter: c, shown: map[string]int{}}
	if p := everything.poll(); everything.shown[sent] != 0 || p.Unread != senders*each {
		c.t.Errorf("a window that is opened anew: %+v", p)
	}
	withRead := parsePack(c.t, c.run(`curl "$TALLYMAN_SERVER/api/v1/legacy/listNotifications?includeRead=true`))
	if len(withRead.Notifications) != senders*each+1 {
		c.t.Errorf("with what is read: %+v", withRead)
	}
}
