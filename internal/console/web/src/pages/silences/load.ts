import { api, body, type Schemas } from "../../api/client";

export async function add(fields: Schemas["SilenceFields"]): Promise<Schemas["Silence"]> {
  return body(api.POST("/api/v1/silences", { body: fields }));
}

export async function expire(id: string): Promise<Schemas["Silence"]> {
  return body(api.POST("/api/v1/silences/{id}/expire", { params: { path: { id } } }));
}

/** Returns all rules, and the known values of conditions by the name that a condition compares. */
export async function rulesAndValues(): Promise<{
  rules: Schemas["Rule"][];
  values: Record<string, string[]>;
}> {
  const rules: Schemas["Rule"][] = [];
  let after: string | undefined;
  do {
    const page = await body(
      api.GET("/api/v1/rules", { params: { query: { limit: 1000, ...(after && { after }) } } }),
    );
    rules.push(...page.rules);
    after = page.cursor;
  } while (after);
  return { rules, values: valuesOf(rules) };
}

function valuesOf(rules: readonly Schemas["Rule"][]): Record<string, string[]> {
  const found = new Map<string, Set<string>>();
  const note = (name: string, value: string) => {
    if (value) found.set(name, (found.get(name) ?? new Set()).add(value));
  };
  for (const rule of rules) {
    note("rule", rule.id);
    note("type", rule.type);
    for (const { scope } of rule.scopes) {
      note("scope", scope);
      note("warehouse", scope);
    }
    for (const [name, value] of Object.entries(rule.labels ?? {})) note(name, value);
  }
  return Object.fromEntries([...found].map(([name, values]) => [name, [...values].sort()]));
}
