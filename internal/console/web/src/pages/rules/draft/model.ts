import type { Schemas } from "../../../api/client";

export type Drafted = Schemas["Draft"];
export type Effect = NonNullable<Drafted["effect"]>;
export type Side = NonNullable<Effect["draft"]>;
