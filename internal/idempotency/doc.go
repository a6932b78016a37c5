// Package idempotency keeps the rows of requests: the claim of an idempotency
// key, the lease of the process that executes the request, the fence that stops a
// process which has lost it, and the response.
//
// # States
//
//	            claim                    finish                     reap
//	(no row) ──────────▶ running ─────────────────▶ finished ──────────▶ archived
//	                     │  ▲  │
//	                park │  │  │ hold
//	                     ▼  │  ▼
//	                parked ─┘  held ──▶ parked
//	                    resume     an operator decides
//	                  (epoch + 1)
//
// Running has an owner and a lease, parked a due time, held a reason, finished a
// response. Constraints tie each state to its columns, and a trigger rejects every
// step backwards.
//
// # Ownership
//
// A running request belongs to one process. Others leave it alone while that
// process renews its Liveness row and the lease has not run out. Then anyone may
// resume the request, which raises its epoch. Each write of an executing process
// compares the epoch (Fence, Advance, Park, Hold): one that lost the request
// fails with the SQLSTATE of FenceCode, and nothing of its transaction remains.
//
// # Use
//
// The package knows rows and bytes. It does not know what a phase is: package
// phase moves the rows through these states, and its example is a complete
// program. Statements that join the caller's transaction are values (Statement);
// functions that take a Reader run at once.
package idempotency
