// Package targets makes the calls: it turns a leased run into one HTTP request
// to a target of the registry, and the target's answer into the ledger's terms.
//
// # Guarantees
//
//   - One attempt is one request on the wire. Redirects are not followed, and a
//     request with a body is never sent again by the transport. The one
//     exception is a 401 under OAuth2: the same request is sent once more with
//     a fresh token.
//   - A request goes to the host that the target's variable names, under its
//     path prefix, over TLS 1.2 or later unless the host is this machine or the
//     registry allows plain HTTP. A proxy is used only if Config.Proxy names one.
//   - What a target answers costs bounded memory and time: 64 KiB of headers,
//     64 KiB of body, and never more than the context's deadline.
//   - No secret, header value or body reaches an error, a log or an answer.
//
// Answers of targets and token endpoints are treated as hostile input.
package targets
