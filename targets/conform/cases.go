package conform

import "net/http"

// testcase is one rule and how it is tested.
type testcase struct {
	name, rule, source string
	advisory           bool // a caller is safe without it
	run                runner
}

// runner tests a service. The error of its script says what was found.
type runner func(*script)

// Where the rules come from.
const (
	contract = "docs/any-language.md"
	draft    = "IETF draft-ietf-httpapi-idempotency-key-header-07"
)

// cases are in the order in which they run and are reported.
var cases = []testcase{
	{name: "one-effect", rule: "A repetition has no second effect.",
		source: contract + ", rules 1 and 2", run: oneEffect},
	{name: "replay-bytes", rule: "A repetition gets the stored status and the same bytes.",
		source: contract + ", rule 3; " + draft + ", section 2.6", run: replayBytes},
	{name: "replay-marked", rule: "A replay carries Idempotent-Replayed: true; a first answer does not.",
		source: contract + ", rule 3", run: replayMarked},
	{name: "replay-headers", rule: "Content-Type and Location are replayed; Set-Cookie is not.",
		source: contract + ", rule 3; RFC 9110, section 8", run: replayHeaders},
	{name: "storm", rule: "Of many calls at once with one key one does the work, and all get its answer or are asked to come back.",
		source: contract + ", rule 1", run: storm},
	{name: "in-flight", rule: "A call whose key is being worked on waits for a limited time, then it is answered 409 (or 429, or 503) with Retry-After.",
		source: contract + "; " + draft + ", section 2.6", run: inFlight},
	{name: "lost-answer", rule: "A caller that hung up gets the answer when it asks again; there is one effect.",
		source: contract + ", rule 2", run: lostAnswer},
	{name: "cut-request", rule: "A request whose body ends early has no effect and does not use up its key.",
		source: "RFC 9112, section 8", run: cutRequest},
	{name: "crash", rule: "A process that dies in the middle of the work leaves no effect and no key.",
		source: contract + ", rule 2", run: crashing(crash)},
	{name: "mismatch", rule: "A key that comes with another payload is refused (409 or 422), and nothing is done.",
		source: contract + ", rule 3; " + draft + ", section 2.7", run: mismatched(variant{}, variant{otherOperation: true})},
	{name: "mismatch-method", rule: "A key that comes with another method is refused like another payload.",
		source: contract + ", rule 3", run: mismatched(variant{}, variant{method: http.MethodPut})},
	{name: "mismatch-query", rule: "A key that comes with another query is refused like another payload.",
		source: contract + ", rule 3", run: mismatched(variant{query: "part=1"}, variant{query: "part=2"})},
	{name: "mismatch-media-type", rule: "A key that comes with another media type is refused like another payload.",
		source: contract + ", rule 3", run: mismatched(variant{}, variant{mediaType: "application/vnd.conform+json"})},
	{name: "json-meaning", rule: "JSON is compared by its meaning: order and spacing of members, and charset=utf-8, do not matter.",
		source: "RFC 8785; docs/kit-reference.md", advisory: true, run: jsonMeaning},
	{name: "late-call", rule: "A call past its Cronce-Send-Before starts no work: 412.",
		source: contract + ", rule 4", run: lateCall},
	{name: "late-replay", rule: "A call past its Cronce-Send-Before gets the answer that is stored.",
		source: contract + ", rule 4; docs/decisions/0011", run: lateReplay},
	{name: "send-before-syntax", rule: "A Cronce-Send-Before that is not one RFC 3339 time is refused: 400.",
		source: contract, run: sendBeforeSyntax},
	{name: "principals", rule: "Keys of two callers never meet.",
		source: contract + ", rule 1; " + draft + ", section 5", run: separate(variant{}, variant{principal: "bob"})},
	{name: "unidentified", rule: "A call that does not prove who makes it is refused (401), and nothing is done.",
		source: contract + ", rule 1", run: unidentified},
	{name: "scopes", rule: "Keys of two operations never meet.",
		source: contract + ", rule 1", run: separate(variant{}, variant{path: "/conform/brief"})},
	{name: "key-case", rule: "Keys that differ only in upper and lower case never meet.",
		source: contract + ", rule 1", run: separate(variant{suffix: "-a"}, variant{suffix: "-A"})},
	{name: "key-length", rule: "Keys of 128 characters that differ only in the last one never meet.",
		source: contract + ", rule 1", run: separate(variant{suffix: "a", longest: true}, variant{suffix: "b", longest: true})},
	{name: "missing-key", rule: "A call without a key is refused (400), and nothing is done.",
		source: contract + "; " + draft + ", section 2.7", run: missingKey},
	{name: "invalid-key", rule: "A key that is not 1 to 128 printable ASCII characters, or more than one, is refused: 400.",
		source: contract + "; RFC 9651, section 3.3.3", run: invalidKey},
	{name: "quoted-key", rule: "A key as a quoted structured-field string is the same as the bare text.",
		source: draft + ", section 2.1", run: quotedKey},
	{name: "temporary-failure", rule: "After a 5xx nothing is done and the key is free.",
		source: contract, run: released(http.StatusServiceUnavailable)},
	{name: "own-conflict", rule: "After a 409 of the operation itself nothing is done and the key is free.",
		source: contract, run: released(http.StatusConflict)},
	{name: "final-refusal", rule: "A final 4xx is stored, without effects, and replayed.",
		source: contract, run: finalRefusal},
	{name: "expiry-told", rule: "Idempotency-Key-Expires tells when the key is forgotten, in every answer alike.",
		source: "docs/kit-reference.md; " + draft + ", section 2.3", advisory: true, run: expiryTold},
	{name: "long-work", rule: "Long work is answered 202 with Retry-After until it is done, then with its stored answer.",
		source: "docs/long-work.md; RFC 9110, section 15.3.3", run: long(longWork)},
	{name: "long-storm", rule: "Of many calls at once for long work one starts it, and it has one effect.",
		source: "docs/long-work.md", run: long(longStorm)},
	{name: "long-crash", rule: "Long work whose process dies is started again by a later call, and has one effect.",
		source: "docs/long-work.md", run: long(crashing(longCrash))},
	{name: "expiry", rule: "A key is remembered until it expires, and is new work after that.",
		source: contract + ", rule 4; " + draft + ", section 2.3", run: expiry},
	// The last, so that it repeats the first call of all, as late as it can without waiting.
	{name: "expiry-kept", rule: "A key is not forgotten before the time that Idempotency-Key-Expires tells.",
		source: contract + ", rule 4; " + draft + ", section 2.3", run: expiryKept},
}
