// Package conform tests over HTTP whether a service, in whatever language,
// makes each call take effect once.
//
// The service under test follows a small protocol, version 1, below a base URL.
// A bearer token is the name of its owner. Every answer is JSON.
//
//	GET  /conform
//	     {"protocol": 1, "crash": true, "briefSeconds": 1, "long": true}
//	     crash: the service is started again when its process ends.
//	     briefSeconds: how long /conform/brief remembers its keys; absent: not tested.
//	     long: there is a /conform/long.
//	GET  /conform/effects?operation=ID
//	     {"count": 1}: the committed effects of an operation.
//	POST /conform/effects
//	     An idempotent operation. {"operation": "ID", "answer": 201}: it stores one
//	     effect and answers with that status (default 201), a Location, a
//	     Set-Cookie, and {"operation": "ID", "effect": "a token drawn anew"}. If the
//	     status is 400 or more, it stores no effect. It takes any query and media type.
//	     The header Conform-Fault is no part of the payload. It tells the handler
//	     what to do between the effect and the answer:
//	       hold=MS   wait so many milliseconds
//	       crash     end the process without cleaning up
//	PUT  /conform/effects
//	     As POST /conform/effects, in the same key scope; 405 if the service cannot have it.
//	POST /conform/brief
//	     As POST /conform/effects, in a key scope of its own, whose keys expire after briefSeconds.
//
//	POST /conform/long
//	     As POST /conform/effects, in a key scope of its own, as long work: it is answered 202 with a
//	     Retry-After until it is done. Conform-Fault is what happens in the middle of
//	     the work. A dead worker loses its key after a second or two.
//
// A service waits for another call with the same key for at most a second.
package conform
