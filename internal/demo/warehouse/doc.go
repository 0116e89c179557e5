// Package warehouse simulates the sample WMS: it releases waves, picks them, ships orders, refills bins and counts
// stock, minute by minute. It writes to the WMS database as a WMS would and knows nothing of Tallyman.
//
// With one seed it does the same every time. Simulator is the whole of it; Event is what a person in the warehouse
// would notice. A minute of one warehouse is one transaction, whose acts are outbound.go (waves and orders) and
// inventory.go (refills, counts, lots).
package warehouse
