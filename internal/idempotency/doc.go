// Package idempotency stores requests in three tables: what the client asked (requests),
// the progress and the owner of an unfinished request (runs), and its response (answers).
//
// # States
//
//	            claim                    finish                     reap
//	(no row) ──────────▶ running ─────────────────▶ finished ──────────▶ archived
//	                     │  ▲  │
//	                park │  │  │ hold
//	                     ▼  │  ▼
//	                parked ─┘  needs_review ──▶ parked
//	                    resume     an operator decides
//	                  (epoch + 1)
//
// The first three are states of the run: running has an owner and a lease, parked a
// due time, needs_review (held) a reason. Constraints tie each to its columns, and
// a trigger rejects every step backwards. Claiming a key inserts the request and its
// run. Finishing deletes the run and inserts the answer, if the run is still as the
// process left it: this compare-and-delete is the fence. A request with
// neither run nor answer is damaged (ErrDamaged); triggers reject one.
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
