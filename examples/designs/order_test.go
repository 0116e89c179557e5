package designs

import "time"

// A work order is suspended twice, stored for days, queued again by its code, and done.
func playOrder(c *chapter) {
	const push, lease = "tallyman queue push orders", "tallyman queue lease orders"
	c.run(push)
	c.run(lease)
	c.run("tallyman queue suspend orders WO-2041 --attempt 1")
	c.run(lease) // nothing
	c.node.pass(2 * time.Hour)
	c.run(lease)
	c.run("tallyman queue suspend orders WO-2041 --attempt 2")
	c.node.pass(12 * time.Hour)
	c.run(lease)
	c.run("tallyman queue suspend orders WO-2041 --attempt 3")
	c.run("tallyman queue store orders WO-2041 --attempt 3")
	c.node.pass(3 * 24 * time.Hour)
	c.run(lease)
	c.run("tallyman queue store orders WO-2041 --attempt 4")
	c.run("tallyman queue store orders WO-2041 --delay 1s")
	c.node.pass(time.Second)
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
