// An API route whose body Next.js parses before the kit sees it.

export default (request, response) => globalThis.contractOfPages(request, response);
