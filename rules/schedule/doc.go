// Package schedule calculates when a rule fires: by a cron in a timezone. It handles the two changes of the clock in
// the way of ISC cron.
//
// A schedule ticks where its minute or hour field begins with * or ?. It then fires at every instant whose local time
// fits. Any other schedule names fixed times of the day, and each of these times fires once a day:
//
//   - In spring the clock skips some times. One firing at the instant of the jump replaces all skipped firings.
//   - In autumn the clock shows some times twice. The firing happens at the first of them.
//
// @every ticks at multiples of its duration since 1970, so that every node of a cluster has the same due times.
package schedule
