import type { HTMLAttributes } from "vue";
import type { InboxEventMap, InboxProps, TallymanInbox } from "./index.js";

/** The props of `<tallyman-inbox>` in a template. */
export type TallymanInboxProps = HTMLAttributes &
  InboxProps & {
    onTallymanNotice?: (event: InboxEventMap["tallyman-notice"]) => void;
    onTallymanOpen?: (event: InboxEventMap["tallyman-open"]) => void;
    onTallymanUnread?: (event: InboxEventMap["tallyman-unread"]) => void;
  };

declare module "vue" {
  interface GlobalComponents {
    "tallyman-inbox": new () => TallymanInbox & { $props: TallymanInboxProps };
  }
}
