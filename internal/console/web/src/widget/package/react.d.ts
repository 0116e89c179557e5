import type { DetailedHTMLProps, HTMLAttributes } from "react";
import type { InboxEventMap, InboxProps, TallymanInbox } from "./index.js";

/** The props of `<tallyman-inbox>` in JSX. React 19 sets properties and listens to events; React 18 sets strings only. */
export type TallymanInboxProps = DetailedHTMLProps<HTMLAttributes<TallymanInbox>, TallymanInbox> &
  InboxProps & { [type in keyof InboxEventMap as `on${type}`]?: (event: InboxEventMap[type]) => void };

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "tallyman-inbox": TallymanInboxProps;
    }
  }
}
