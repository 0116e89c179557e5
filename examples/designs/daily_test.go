package designs

import "time"

// What is pushed twice on one day is in once, also when it is done; over midnight it is in again.
func playDaily(c *chapter) {
	c.node.passTo(c.t, "Asia/Shanghai", 23, 50)
	const push, lease = "tallyman queue push daily examples/designs/daily.jsonl", "tallyman queue lease daily"
	c.run(push)
	c.run(push)
	c.vars["ID"] = first(c.run(lease))
	c.run("tallyman queue ack daily $ID")
	c.run(push)

	const content = "tallyman queue push daily --priority"
	c.run(content)
	c.run(content)
	c.run(content)

	c.node.pass(10 * time.Minute) // midnight
	c.run(push)
	c.run(content)
}
