package designs

import "time"

// A worker dies with its item, and another gets the item; an item that two workers did not survive waits for an operator.
func playWorker(c *chapter) {
	const lease = `curl --json '{"worker":`
	c.run(`curl --json '{"items":`)
	c.run(lease + `"anna"`)
	c.node.pass(30 * time.Second)
	c.run(lease + `"ben"`) // nothing: anna has it
	c.node.pass(30 * time.Second)
	c.run(lease + `"ben"`)
	c.run(`curl --json '{"attempt":1}'`)
	c.node.pass(time.Minute)
	c.run(lease + `"cleo"`) // nothing: it is dead
	c.run("tallyman queue list jobs --state dead")
	c.run("tallyman queue requeue jobs")
	c.run(lease + `"cleo"`)
	c.run(`curl --json '{"attempt":3}'`)
}
