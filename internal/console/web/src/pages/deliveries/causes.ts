import type { Schemas } from "../../api/client";
import { t } from "./text";

export type Cause = Schemas["DeliveryCause"];

/** A cause in words: the status of the answer, or why there was none. */
export function causeText({ cause }: Pick<Cause, "cause">): string {
  const status = cause.replace(/^refused:?/, "");
  if (status === "") return t("causeRefused");
  if (status === "timeout") return t("causeTimeout");
  if (status === "unanswered") return t("causeUnanswered");
  if (status === "none") return t("causeNone");
  return t("causeStatus", { status });
}
