// Package warehouse simulates the sample WMS: it releases waves, picks them, ships orders, refills bins and counts
// stock, minute by minute. It writes to the WMS database as a WMS would and knows nothing of Tallyman.
//
// The same seed gives the same day. Simulator runs the simulation; Event is something that a person in the warehouse
// would notice. A minute of one warehouse is one transaction. Its steps are in outbound.go (waves and orders) and
// inventory.go (refills, counts, lots).
package warehouse
