package designs

import "time"

// A work order is suspended twice, stored for days, queued again by its code, and done.
func playOrder(c *chapter) {
	const push, lease = "tallyman queue push orders", "tallyman queue lease orders"
	c.run(push)
	c.run(lease)
	suspended := c.run("tallyman queue suspend orders WO-2041 --attempt 1")
	c.run(lease) // nothing
	c.passUntil(suspended, 2*time.Hour)
	c.run(lease)
	c.passUntil(c.run("tallyman queue suspend orders WO-2041 --attempt 2"), 12*time.Hour)
	c.run(lease)
	c.run("tallyman queue suspend orders WO-2041 --attempt 3")
	c.passUntil(c.run("tallyman queue store orders WO-2041 --attempt 3"), 3*24*time.Hour)
	c.run(lease)
	c.run("tallyman queue store orders WO-2041 --attempt 4")
	c.passUntil(c.run("tallyman queue store orders WO-2041 --delay 1s"), time.Second)
	c.run(lease)
	c.run("tallyman queue ack orders WO-2041 --attempt 5")

	// The order has ended: with again it begins another life.
	c.node.pass(30 * 24 * time.Hour)
	c.run(push)
	c.run(push)
	c.run(lease)
	c.run("tallyman queue ack orders WO-2041 --attempt 6")
	c.run(push)
	c.await("tallyman queue show orders WO-2041")
}

// passUntil lets time pass until the order is ready again, which the answer says: so long from now.
func (c *chapter) passUntil(answer string, want time.Duration) {
	c.t.Helper()
	until, err := time.Parse("2006-01-02 15:04:05Z", moment.FindString(answer))
	if err != nil {
		c.t.Fatalf("%v in %s", err, answer)
	}
	if wait := until.Sub(c.node.now()); wait > want || wait < want-time.Minute {
		c.t.Errorf("the order is put off for %s instead of %s: %s", wait, want, answer)
	}
	c.node.pass(want)
}
