// The idioms of the contract for API routes, whose handlers are in the process of the test.

export const config = { api: { bodyParser: false, externalResolver: true } };

export default function handler(request, response) {
  return request.method === "GET" ? response.send("plain") : globalThis.contractOfPages(request, response);
}
