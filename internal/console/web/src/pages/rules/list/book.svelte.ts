import { api, body, type Schemas } from "../../../api/client";
import type { Rule, Scope } from "../model";
import type { Entry } from "./filter";

/** A row of the list: a rule in one of its scopes, as it is now, and as it was at the last ordering of the list. */
export class Unit implements Entry {
  readonly key: string;
  rule = $state.raw() as Rule;
  scope = $state.raw() as Scope;
  /**
   * The data by which the list is ordered. It changes only in settle, so that rows do not move while somebody reads.
   */
  seen: Entry;

  constructor(rule: Rule, scope: Scope) {
    this.key = keyOf(rule, scope);
    this.rule = rule;
    this.scope = scope;
    this.seen = { rule, scope };
  }

  settle(): void {
    this.seen = { rule: this.rule, scope: this.scope };
  }
}

const keyOf = (rule: Rule, scope: Scope) => JSON.stringify([rule.id, scope.scope]);

/** How many rules the first page has: enough for a screen, and quick to load. */
const first = 100;
const most = 1_000;

/** All rules in all their scopes. The book loads them page by page, and later loads a part of them again. */
export class Book {
  units = $state.raw<readonly Unit[]>([]);
  /** The whole list is there. */
  complete = $state(false);
  paused = $state.raw<Schemas["Switch"]>();
  problems = $state.raw<readonly Schemas["FileProblem"][]>([]);
  strays = $state.raw<readonly Schemas["Switch"][]>([]);

  #version = "";
  #units = new Map<string, Unit>();

  /** Loads every page. The book grows with each page. In the end it drops the rules that no page had. */
  async load(signal: AbortSignal): Promise<this> {
    const found = new Set<string>();
    let after: string | undefined;
    let limit = first;
    do {
      const query = { limit, ...(after === undefined ? {} : { after }) };
      const page = await body(api.GET("/api/v1/rules", { params: { query }, signal }));
      for (const key of this.#take(page)) found.add(key);
      after = page.cursor;
      limit = most;
    } while (after !== undefined);
    for (const key of [...this.#units.keys()]) if (!found.has(key)) this.#units.delete(key);
    this.#publish();
    this.complete = true;
    return this;
  }

  /**
   * Loads these rules again. Returns false if the version of the rules has changed, so that all rules must be loaded.
   */
  async refresh(ids: readonly string[], signal: AbortSignal): Promise<boolean> {
    const before = this.#version;
    const query = { id: [...new Set(ids)] };
    const page = await body(api.GET("/api/v1/rules", { params: { query }, signal }));
    this.#take(page);
    return page.version === before;
  }

  /** Takes over the scopes that an action has returned. */
  put(id: string, scopes: readonly Scope[]): void {
    for (const scope of scopes) {
      const unit = this.#units.get(JSON.stringify([id, scope.scope]));
      if (unit) unit.scope = scope;
    }
  }

  #take(page: Schemas["Rules"]): string[] {
    this.#version = page.version;
    this.paused = page.paused;
    this.problems = page.problems;
    this.strays = page.strays ?? [];
    const keys: string[] = [];
    const before = this.#units.size;
    for (const rule of page.rules) for (const scope of rule.scopes) keys.push(this.#set(rule, scope));
    if (this.#units.size !== before) this.#publish();
    return keys;
  }

  #set(rule: Rule, scope: Scope): string {
    const key = keyOf(rule, scope);
    const known = this.#units.get(key);
    if (known) Object.assign(known, { rule, scope });
    else this.#units.set(key, new Unit(rule, scope));
    return key;
  }

  #publish(): void {
    const { compare } = new Intl.Collator("en");
    this.units = [...this.#units.values()].sort(
      (a, b) => compare(a.rule.id, b.rule.id) || compare(a.scope.scope, b.scope.scope),
    );
  }
}
