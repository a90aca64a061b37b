// Package request is the built-in kind "http": it delivers requests to targets
// that the configuration allows by name, so that a webhook or a call of an API
// needs no Go.
//
// A job's args are {"target": NAME, "method": "POST", "path": "invoices/7",
// "body": any JSON}; only the target is required. The target says where the
// request goes, and holds whatever is secret: addresses, headers, fields that
// are put into the body, and a secret that signs it. None of them comes into a
// job, a result, an error or a log. A request carries
//
//	Idempotency-Key        the same for every attempt of the job
//	Fenceline-Job          the job's id
//	Fenceline-Attempt      the attempt's id
//	Fenceline-Generation   the fencing token
//
// and, when the target has a secret, the three headers of the Standard Webhooks
// specification, with the idempotency key as webhook-id.
//
// How it is answered decides:
//
//	2xx                     success with a [Result]
//	408, 425, 429 and 5xx   a failure that is retried, of class "http 503"; what
//	                        Retry-After asks for is granted, up to an hour
//	3xx, other 4xx, 101     a permanent failure; no redirect is followed
//	an address that may not be dialled
//	                        a permanent failure of class "address refused"
//	no answer               a failure that is retried, of class "dns", "dial",
//	                        "tls", "timeout" or "connection"
//
// Addresses are judged when they are dialled, behind the lookup of the name, so
// that a name which changes its mind gains nothing: only public ones, and those
// of [Target].Allow. No proxy is used, because it would dial in our place.
//
// A request is sent while the attempt holds its job, and cancelled when that
// ends. What the other side did by then stays done: it must know repeats by the
// key, or older attempts by the generation.
package request
