import { given, states, type Filter, type Sink } from "./model";
import { t } from "./text";

/** Sinks count the deliveries of a state up to this number. The number stands for so many deliveries or more. */
const bound = 10_000;

/**
 * Returns how many deliveries are in a state, for the sink of the filter or for all sinks. Undefined if the sinks do
 * not tell.
 */
export function countOf(
  state: (typeof states)[number],
  filter: Filter,
  sinks: readonly Sink[] | undefined,
): number | undefined {
  const { sink, ...others } = given(filter);
  if (!sinks || Object.keys(others).length > 0) return undefined;
  const name = state === "timed_out" ? "timedOut" : state;
  const counts = sinks.filter((each) => !sink || each.name === sink).map((each) => each.deliveries[name]);
  return counts.some((count) => count >= bound) ? undefined : counts.reduce((sum, count) => sum + count, 0);
}

/** The quick filters with their counts. */
export function tabsOf(filter: Filter, sinks: readonly Sink[] | undefined) {
  const tab = (state: (typeof states)[number]) => ({
    id: state,
    title: t(state),
    count: countOf(state, filter, sinks),
  });
  return [
    { id: "all", title: t("all") },
    tab("pending"),
    { id: "held", title: t("held") },
    tab("failed"),
    tab("timed_out"),
    tab("sent"),
    tab("canceled"),
  ];
}
