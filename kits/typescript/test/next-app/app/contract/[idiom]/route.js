// The idioms of the contract, whose handlers are in the process of the test.

export const dynamic = "force-dynamic";
export const POST = (request, context) => globalThis.contract(request, context);
export const GET = () => new Response("plain");
