// Package schedule says when a rule fires: cron in a timezone, with the two changes of the clock handled
// as ISC cron does it.
//
// A schedule whose minute or hour field begins with * simply ticks: it fires at every instant whose local
// time fits. Any other names fixed times of the day, and each of them fires once a day:
//
//   - the clock skips it (spring): one firing at the instant of the jump stands for all that were skipped
//   - the clock shows it twice (autumn): the first time counts
//
// @every ticks at multiples of its duration since 1970, so that every node of a cluster has the same due times.
package schedule
