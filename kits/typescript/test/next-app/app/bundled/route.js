// The kit in the bundle of Next.js. The test is its store.

import { cookies } from "next/headers";
import { redirect } from "next/navigation";
import { Kit } from "../../../../dist/index.js";
import { nextIdempotency } from "../../../../dist/adapters/next.js";

export const dynamic = "force-dynamic";

const kit = new Kit(
  { begin: (...args) => globalThis.bundledStore.begin(...args), lookup: async () => ({}) },
  { logError: () => {} },
);

export const POST = nextIdempotency(kit, { principal: () => "alice" })({ scope: "bundled" }, async (request) => {
  (await cookies()).set("session", "1");
  if ((await request.text()) === "throw") {
    throw new Error("no luck");
  }
  redirect("/payments/1");
});
