// Package phase executes requests exactly once, from recovery point to recovery
// point, whichever process crashes on the way.
//
// # Operations
//
// An operation is a table of phases, declared as data and read from top to
// bottom. Each line is named for the recovery point it reaches, in the past tense:
//
//	var CreateCharge = phase.Define("charge.create", 2,
//		phase.Atomic(chargeRecorded, recordCharge),
//		phase.Foreign(acquirerAnswered, acquirer.Port, callAcquirer),
//		phase.Atomic(chargeFinalized, finalizeCharge),
//	).AbandonUnsentAfter(10*time.Minute, abandonCharge)
//
// An atomic phase gets a transaction (Tx) and no way to reach the network. A
// foreign phase gets a ForeignCall, which is permission to call another system
// once under one key, and no transaction. Only the engine can make either, so a
// network call inside a transaction does not compile.
//
// # States
//
// A request is a row in the database. The engine moves it, and each arrow is one
// commit:
//
//	              claim and first phases                  response
//	(no row) ────────────────────────▶ running ─────────────────────▶ finished
//	                                    │  ▲ │
//	             outcome unknown: park  │  │ │ too many attempts: hold
//	                                    ▼  │ ▼
//	                       parked ─────────┘ held ──▶ parked
//	                   client's retry             an operator decides
//	                   or completer: epoch + 1
//
// Neighboring atomic phases share a transaction, the claim of the key folds into
// the first, and the next transaction stores the answer of a foreign phase:
//
//	commits = 1 + number of foreign barriers
//
// # Recovery
//
// The first attempt, the client's retry and the completer run the same table with
// the same function, execution.execute. What a phase needs from an earlier one it
// finds in the typed state S, which travels in the request's row. Each commit
// checks the epoch and the recovery point it started from. A process that was
// taken for dead cannot commit any more; it answers with the response of the one
// that took over.
//
// A foreign call is made under a key that the engine has derived from the
// caller's own key and committed before. The same call is therefore made under
// the same key by every attempt, and the other system acts once.
//
// # Guarantees
//
//   - A caller receives a response that is committed, and a replay returns its bytes.
//   - An unknown outcome is never stored as an error. The request is parked, and
//     the completer calls again under the same key.
//   - A process that cannot even park a request, because it has lost the database,
//     keeps trying in the background, so that others take over within seconds.
//
// The package knows nothing of what its flows do, and nothing of HTTP but the
// status of a response. Config.Headers and Config.Refuse add what an API has to say.
package phase
