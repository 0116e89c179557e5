import { expect, test } from "vitest";
import { Failure } from "../api/failure";
import { Form } from "./form.svelte";

const refusal = new Failure("invalid", 422, "invalid_body", "body.name: too short", [
  { location: "body.name", message: "too short" },
  { location: "body.names.q_q", message: "no language" },
  { location: "body.access[0]", message: "no role" },
  { message: "and the moon" },
]);

async function refused(failure: Failure): Promise<Form> {
  const form = new Form();
  expect(await form.send(() => Promise.reject(failure))).toBe(false);
  expect(form.busy).toBe(false);
  return form;
}

test("a fault is told at its field, and of what is below it", async () => {
  const form = await refused(refusal);
  expect(form.at("body.name")).toBe("too short"); // and not that of names
  expect(form.at("body.names")).toBe("no language");
  expect(form.at("body.access")).toBe("no role");
  expect(form.at("body.code")).toBeUndefined();
});

test("what belongs to no field that is shown is told apart", async () => {
  const form = await refused(refusal);
  expect(form.elsewhere("body.name", "body.names", "body.access")).toBe("and the moon");
  expect(form.elsewhere("body.name", "body.names")).toBe("body.access[0]: no role · and the moon");
  const whole = await refused(new Failure("conflict", 409, "type_exists", "it is there already"));
  expect(whole.elsewhere("body.name")).toBe("it is there already");
});

test("what was taken is not wrong any longer", async () => {
  const form = await refused(refusal);
  expect(await form.send(() => Promise.resolve())).toBe(true);
  expect(form.at("body.name")).toBeUndefined();
  expect(form.elsewhere()).toBeUndefined();
});
