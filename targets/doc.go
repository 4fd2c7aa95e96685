// Package targets makes the HTTP calls of runs. It turns a leased run into one request to
// a target of the registry, and classifies the target's answer for the ledger.
//
// # Guarantees
//
//   - One attempt is one request on the wire. Redirects are not followed, and a
//     request with a body is never sent again by the transport. There are two
//     exceptions. After a 401 (with sigv4 a 403) the same request is sent once more
//     if there is a fresh token or a changed secret. And the transport repeats a
//     request without a body if a connection that was used before closes unanswered.
//     A list of members is fetched with one request a page.
//   - Nothing is written to a connection at or after the call's SendUntil.
//   - A request goes to the host that the target's variable names, under its
//     path prefix, over TLS 1.2 or later unless the host is this machine or the
//     registry allows plain HTTP. A proxy is used only if Config.Proxy names one.
//   - An answer costs bounded memory and time, until the context's deadline: at most 64 KiB
//     of headers and 128 KiB of body, of which 64 KiB are kept. A page of a list has at most 32 MiB.
//   - No secret and no header value reaches an error, a log or an answer. Of a body only its
//     problem code does, the progress of accepted work, the keys of a list, and an excerpt if
//     the target has keepAnswers, each without the secrets that this process knows.
//
// Answers of targets and token endpoints are treated as hostile input.
package targets
