import type { Notice } from "./types";

/** A notice for tests. */
export function aNotice(id: string, more: Partial<Notice> = {}): Notice {
  return {
    id,
    type: "REP_NOTICE",
    typeId: 1,
    warehouse: "W1",
    rule: "",
    scope: "",
    key: "",
    episode: "s_1",
    status: "sent",
    priority: 3,
    modal: "silent",
    title: id,
    body: "",
    data: {},
    labels: {},
    count: 1,
    createdAt: "2026-06-01T00:00:00Z",
    createTime: Date.parse("2026-06-01T00:00:00Z"),
    expireTime: 86400,
    expiresAt: "2026-06-02T00:00:00Z",
    read: false,
    acked: false,
    ...more,
  };
}

/** A moment at which these notices live. */
export const noon = Date.parse("2026-06-01T12:00:00Z");

/** An unsigned JWT with these claims. */
export function jwt(claims: Record<string, unknown>): string {
  const bytes = new TextEncoder().encode(JSON.stringify(claims));
  return `h.${btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=/g, "")}.s`;
}
