import { describe, expect, it } from "vitest";
import { channelLines, channelsOf, linesOf, otherAddresses } from "./lines";

describe("the fields of an entry of the address book", () => {
  it("has one value a line", () => {
    expect(linesOf(" a \n\n b=c ")).toEqual(["a", "b=c"]);
  });

  it("has the addresses of channels by their names", () => {
    const channels = { jpush: "17", fcm: "c1:a=b" };
    expect(channelLines(channels)).toBe("fcm=c1:a=b\njpush=17");
    expect(channelsOf(channelLines(channels))).toEqual(channels);
    expect(channelsOf(" jpush = 17 \nfcm")).toEqual({ jpush: "17", fcm: "" });
    expect(channelLines(undefined)).toBe("");
  });

  it("shows phone, alias and the names of channels beside mail", () => {
    const entry = {
      id: "user:ann",
      mail: ["a@b.c"],
      phone: "110",
      alias: "ann",
      channels: { b: "1", a: "2" },
    };
    expect(otherAddresses(entry)).toEqual(["110", "ann", "a", "b"]);
    expect(otherAddresses({ id: "user:ann" })).toEqual([]);
  });
});
