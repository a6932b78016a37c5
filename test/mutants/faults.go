package main

import "github.com/ratchet-pay/ratchet/internal/lab/mutant"

// fault is one thing done wrong, and the smallest test that must notice.
type fault struct {
	name  string // what is wrong, as one would say it in a review
	edits []edit
	pkg   string
	test  string // as in t.Run, with slashes between
}

// edit replaces a text that a file contains exactly once. A unique constraint is
// undone by adding a column to it that is never twice the same.
type edit struct{ file, old, new string }

// shared are edits that `ratchet lab mutants` makes, too.
func shared(edits ...mutant.Edit) (all []edit) {
	for _, e := range edits {
		all = append(all, edit{e.File, e.Old, e.New})
	}
	return all
}

// The files that are broken here more than once.
const (
	execution = "internal/phase/execution.go"
	foreign   = "internal/phase/foreign.go"
	serve     = "internal/phase/serve.go"
	committer = "internal/phase/committer.go"
	suspend   = "internal/phase/suspend.go"
	write     = "internal/idempotency/write.go"
	resume    = "internal/idempotency/resume.go"
	liveness  = "internal/idempotency/liveness.go"
	confirm   = "internal/session/payment_page_confirm.go"
	requests  = "migrations/000003_requests.up.sql"
	postings  = "migrations/000004_ledger.up.sql"
	balances  = "migrations/000005_balances.up.sql"
	charges   = "migrations/000007_charges.up.sql"
	phaseTest = "./internal/phase"
	rowTest   = "./internal/idempotency"
	modelTest = "./test/model"
	apiTest   = "./internal/api"

	schemaTest = "./test/schema"
	crashTest  = "./test/crash"
	sdkTest    = "./test/sdk"

	paymentsTest = "./internal/payment"
	conformance  = "./internal/acquirer"
)

// noFence takes the epoch and the point out of both fences.
var noFence = []edit{
	{write, "AND r.epoch = m.epoch\n\t\tAND r.recovery_points[cardinality(r.recovery_points)] = m.stood_on AND " +
		"r.state = 'running'`", "AND r.state = 'running'`"},
	{requests, " AND epoch = held_epoch\n        AND recovery_points[cardinality(recovery_points)] = stood_on AND " +
		"state", " AND state"},
}

var faults = []fault{
	{
		name:  "the fence is off: an overtaken process may commit",
		edits: noFence,
		pkg:   phaseTest,
		test:  "TestOvertaken/it cannot commit a phase that only writes while its successor is still at work",
	},
	{
		name:  "the fence is off for phases that read first",
		edits: noFence,
		pkg:   phaseTest,
		test:  "TestOvertaken/it cannot commit a phase that reads first while its successor is still at work",
	},
	{
		name: "the proof that the last of five keys did nothing is not kept",
		edits: []edit{{foreign, "return x.hold(ctx, reason, idempotency.Fence(x.request), retired)",
			"_ = retired\n\t\treturn x.hold(ctx, reason)"}},
		pkg: phaseTest, test: "TestGenerations/once that person has it tried again, it is asked under the next key",
	},
	{
		name:  "a takeover does not raise the epoch",
		edits: []edit{{resume, "const takeOver = `epoch = r.epoch + 1,", "const takeOver = `epoch = r.epoch,"}},
		pkg:   phaseTest,
		test:  "TestOvertaken/it cannot commit a phase that only writes while its successor is still at work",
	},
	{
		name:  "a process keeps a request that it could not park",
		edits: []edit{{suspend, "\tx.engine.handover.add(s)\n", ""}},
		pkg:   phaseTest, test: "TestHandover/a request that could not be parked is parked when the database is back",
	},
	{
		name:  "a process keeps a request whose last commit it knows nothing of",
		edits: []edit{{serve, "\t\t\tx.giveUp()\n", ""}},
		pkg:   phaseTest, test: "TestHandover/a request whose last commit was lost is parked when the database is back",
	},
	{
		name:  "a process keeps a request that its completer took over without learning of it",
		edits: []edit{{"internal/phase/engine.go", "\t\te.doubt()\n", ""}},
		pkg:   phaseTest, test: "TestHandover/a request that the completer took over without learning of it is parked",
	},
	{
		name:  "a process keeps a request that a client's retry took over without learning of it",
		edits: []edit{{serve, "\t\te.doubt()\n", ""}},
		pkg:   phaseTest,
		test:  "TestHandover/a request that a client's retry took over without learning of it is parked",
	},
	{
		name:  "a flow is registered though its port is not connected",
		edits: []edit{{"internal/phase/register.go", "if p.connected == nil {", "if true {"}},
		pkg:   phaseTest,
		test:  "TestRegister/a flow whose port is not connected is refused, by name, and nothing is registered",
	},
	{
		name: "a request is laid aside without looking at the epoch",
		edits: []edit{{write,
			"AND epoch = @epoch AND state = 'running'\n\t\tRETURNING 1\n\t)\n\tSELECT CASE count(*) WHEN 1 THEN 1 " +
				"ELSE assert_row_count(1, count(*), 'fence') END FROM parked`",
			"AND @epoch::int > 0 AND state = 'running'\n\t\tRETURNING 1\n\t)\n\tSELECT CASE count(*) WHEN 1 THEN 1 " +
				"ELSE assert_row_count(1, count(*), 'fence') END FROM parked`"}},
		pkg: phaseTest, test: "TestOvertaken/it cannot lay aside what its successor is driving",
	},
	{
		name: "the answer is stored in a second transaction",
		edits: []edit{{execution, "\terr := tx.commit(ctx, x.key(), engine)\n", `	err := tx.commit(ctx, x.key())
	if err == nil {
		err = send(ctx, x.engine.pool, []idempotency.Statement{engine})
	}
`}},
		pkg:  phaseTest,
		test: "TestOvertaken/it cannot commit a phase that only writes while its successor is still at work",
	},
	{
		// One guard is enough: with any of them in place the second booking fails.
		name: "the fence and every other guard of the books are off",
		edits: []edit{
			{write, "AND r.epoch = m.epoch\n\t\tAND r.recovery_points[cardinality(r.recovery_points)] = m.stood_on " +
				"AND r.state = 'running'`", "`"},
			{write, "WHEN cardinality(@ids::text[]) THEN 1\n\t\tELSE " +
				"assert_row_count(cardinality(@ids::text[]), count(*), 'fence') END FROM answered`",
				"WHEN -1 THEN 1 ELSE 1 END FROM answered`"},
			{requests, "    IF NOT FOUND THEN\n        RAISE EXCEPTION 'fence:",
				"    IF false THEN\n        RAISE EXCEPTION 'fence:"},
			{postings, "ledger_postings_source_is_posted_once UNIQUE (",
				"ledger_postings_source_is_posted_once UNIQUE (id, "},
			{"migrations/000009_events.up.sql", "events_one_per_change UNIQUE (", "events_one_per_change UNIQUE (id, "},
			{"internal/payment/charge.go", "`t.status = 'pending'`", "`true`"},
		},
		pkg: modelTest, test: "TestOvertakenCharge/the books hold a charge once though two servers brought its answer",
	},
	{
		// One guard is enough: a run comes from its request's transaction, or there is no answer.
		name: "a run may begin behind the answer of its request",
		edits: []edit{
			{requests, " AND q.xmin = pg_current_xact_id()::xid)", ")"},
			{requests, "        OR EXISTS (SELECT FROM answers a WHERE a.account_id = r.account_id " +
				"AND a.request_id = r.request_id)\n", ""},
		},
		pkg: rowTest, test: "TestRaces/a request that is running",
	},
	{
		name: "an answer needs no run that it ends",
		edits: []edit{{requests, "plpgsql STABLE SET enable_seqscan", "plpgsql VOLATILE SET enable_seqscan"},
			{requests, "     WHERE NOT EXISTS (SELECT FROM runs r WHERE r.account_id = a.account_id AND " +
				"r.request_id = a.request_id)\n", "     WHERE false\n"}},
		pkg:  schemaTest,
		test: "TestEveryPromiseIsKept/a fresh database refuses/an answer to a request that has lost its run",
	},
	{
		name: "a run may end without an answer",
		edits: []edit{{requests, "IF EXISTS (SELECT FROM ended r\n                WHERE",
			"IF EXISTS (SELECT FROM ended r\n                WHERE false AND"}},
		pkg: schemaTest, test: "TestEveryPromiseIsKept/a fresh database refuses/a run that ends without an answer",
	},
	{
		name: "a request may begin without a run",
		edits: []edit{{requests,
			"WHERE a.account_id = q.account_id AND a.request_id = q.id)\n                   <> 1)",
			"WHERE a.account_id = q.account_id AND a.request_id = q.id)\n                   > 1)"}},
		pkg:  schemaTest,
		test: "TestEveryPromiseIsKept/a fresh database refuses/a request with neither a run nor an answer",
	},
	{
		name: "a next key waits for no proof",
		edits: []edit{{requests, "HAVING count(*) > 1\n             OR min(call.generation) <> 1 +",
			"HAVING min(call.generation) > 1 +"}},
		pkg:  schemaTest,
		test: "TestEveryPromiseIsKept/a fresh database refuses/a second key while the first may have acted",
	},
	{
		name: "a set that moved fewer requests than it has members commits",
		edits: []edit{{write,
			"SELECT CASE count(*) WHEN cardinality(@ids::text[]) THEN 1\n\t\tELSE " +
				"assert_row_count(cardinality(@ids::text[]), count(*), 'fence') END FROM advanced`",
			"SELECT 1 FROM advanced`"}},
		pkg:  rowTest,
		test: "TestSets/one request twice in a set moves nothing, though an UPDATE alone would apply one of the two",
	},
	{
		name:  "a process that resolves a commit does not wait for it",
		edits: []edit{{"internal/idempotency/find.go", "\tFOR UPDATE OF r`", "`"}},
		pkg:   rowTest, test: "TestEstablish/it waits for a finish that has not committed yet, and then knows of it",
	},
	{
		name:  "a process that resolves a commit only reads",
		edits: []edit{{"internal/idempotency/find.go", "\tbatch.Queue(writeMessage)\n\tvar at", "\tvar at"}},
		pkg:   rowTest,
		test:  "TestEstablish/it writes even where the request is finished, so that its commit waits for a standby",
	},
	{
		name: "a member of a refused group gets another member's error",
		edits: []edit{{committer, "\tif len(group) > 1 {\n\t\tgo c.halve(group)\n\t\treturn\n\t}\n",
			"\tif len(group) > 1 {\n\t\tfor _, m := range group {\n\t\t\tm.done <- err\n\t\t}\n\t\treturn\n\t}\n"}},
		pkg: phaseTest, test: "TestCommitter/a member that the database refuses fails alone",
	},
	{
		name: "a group is committed with the rows of its first member alone",
		edits: []edit{{committer, "\t\tfor n, m := range group {\n\t\t\trows[n] = m",
			"\t\trows = rows[:1]\n\t\tfor n, m := range group[:1] {\n\t\t\trows[n] = m"}},
		pkg: phaseTest, test: "TestCommitter/requests that wait for each other's commit share the next",
	},
	{
		name: "a group whose acknowledgment is lost is sent again",
		edits: []edit{{committer, "if err == nil || postgres.ConnectionLost(err) {",
			"if err == nil || postgres.ConnectionLost(err) && len(group) == 1 {"}},
		pkg: phaseTest,
		test: "TestCommitter/when the acknowledgment of a group is lost, each member finds out what became of " +
			"it/after the server has committed",
	},
	{
		name:  "a claim waits for its turn until the client gives up",
		edits: []edit{{committer, "queueTimeout = time.Second\n", "queueTimeout = time.Minute\n"}},
		pkg:   phaseTest,
		test:  "TestCommitter/a claim that waits for too long is not sent, and the client may try again",
	},
	{
		name: "a commit counts although the wait for its standby was canceled",
		edits: []edit{{"internal/postgres/unacknowledged.go", `if notice.Routine == "SyncRepWaitForLSN" {`,
			`if notice.Routine == "none" {`}},
		pkg: crashTest, test: "TestFailOver/nothing is answered that only the primary has while the standby is stalled",
	},
	{
		name:  "a process returns to a primary that was overtaken while it stalled",
		edits: []edit{{"internal/postgres/postgres.go", "\tcfg.Leader.follow(&config.ConnConfig.Config)\n", ""}},
		pkg:   crashTest,
		test:  "TestFailOver/a primary that stalls is left, and not returned to when it wakes",
	},
	{
		name:  "a replay shows what only the primary has",
		edits: []edit{{serve, "\tif !found.Replicated {\n", "\tif true {\n"}},
		pkg:   crashTest,
		test:  "TestFailOver/nothing is answered that only the primary has while the standby is stalled",
	},
	{
		name: "a lease is believed however far ahead it lies",
		edits: []edit{{requests, "SELECT until > clock_timestamp() AND until <= clock_timestamp() + at_most",
			"SELECT until > clock_timestamp()"}},
		pkg: phaseTest, test: "TestClockFallsBack/what a dead process held is taken over at once",
	},
	{
		name:  "a due time is believed however far ahead it lies",
		edits: []edit{{requests, " OR due_at > statement_timestamp() + at_most * 1.1", ""}},
		pkg:   phaseTest, test: "TestClockFallsBack/what was parked is due at once",
	},
	{
		name:  "a delivery waits until a clock that fell back is there again",
		edits: []edit{{"internal/webhook/sweep.go", "SET due_at = statement_timestamp()", "SET due_at = due_at"}},
		pkg:   "./internal/webhook", test: "TestClockFallsBack/a delivery that waits is due",
	},
	{
		name: "a message waits until a clock that fell back is there again",
		edits: []edit{{"internal/inbox/kept.go", "UPDATE inbox SET due_at = statement_timestamp()",
			"UPDATE inbox SET due_at = due_at"}},
		pkg: "./internal/inbox", test: "TestAMessageThatWaitsIsDueWhenTheClockFallsBack",
	},
	{
		name: "verify takes a request that lost its answer for one that is under way",
		edits: []edit{{"internal/verify/rules.go", "WHERE r.has_run = r.has_answer",
			"WHERE r.has_run AND r.has_answer"}},
		pkg: "./internal/verify", test: "TestEveryDamageIsSeen/a request loses its answer",
	},
	{
		name: "a worker checks what its role may not read",
		edits: []edit{{"internal/verify/since.go", "OnlyOne: true, AsWorker: true}",
			"OnlyOne: true, AsWorker: false}"}},
		pkg: "./internal/verify", test: "TestBooksThatAreInOrder/the role of a worker may read what a worker checks",
	},
	{
		name: "verify does not see that two calls had one key",
		edits: []edit{{"internal/verify/rules.go", "FROM keys GROUP BY key, account_id HAVING count(*) > 1",
			"FROM keys GROUP BY key, account_id HAVING count(*) > 1000"}},
		pkg: "./internal/verify", test: "TestEveryDamageIsSeen/two requests asked under one key",
	},
	{
		name:  "a key may have two requests",
		edits: []edit{{requests, "requests_key_is_used_once UNIQUE (", "requests_key_is_used_once UNIQUE (id, "}},
		pkg:   phaseTest, test: "TestKey/of two first requests at once one runs",
	},
	{
		name:  "each attempt calls under another key",
		edits: shared(mutant.KeyPerAttempt),
		pkg:   phaseTest,
		test:  "TestUnknownOutcome/it is parked, never stored, and the retry finishes under the same key",
	},
	{
		name:  "the derived key has the epoch in it",
		edits: shared(mutant.EpochInKey),
		pkg:   phaseTest, test: "TestDerivedKey/nor does one after attempts, takeovers and a second generation",
	},
	{
		name: "the derived key is made of the row's id",
		edits: []edit{{"internal/idempotency/fingerprint.go",
			`"derived-key/1", r.AccountID, mode, r.Key,`, `"derived-key/1", r.AccountID, mode, r.ID,`}},
		pkg: phaseTest, test: "TestDerivedKey/a failover that forgot the request does not make its retry pay twice",
	},
	{
		name: "the route is left out of the fingerprint",
		edits: []edit{{"internal/idempotency/fingerprint.go",
			`"fingerprint/1", method, path, string(canonicalParams))`,
			`"fingerprint/1", method, string(canonicalParams))`}},
		pkg: rowTest, test: "TestFingerprint/another route has another one",
	},
	{
		name:  "a time-out is settled as a decline",
		edits: shared(mutant.TimeoutIsDecline),
		pkg:   modelTest, test: "TestHistory",
	},
	{
		name: "a time-out is taken for proof that nothing was sent",
		edits: []edit{{"internal/acquirer/client.go", "if !connected.Load() {",
			"if connected.Load() || !connected.Load() {"}},
		pkg: "./internal/acquirer", test: "TestWhatALostConnectionProves/a time-out proves nothing",
	},
	{
		name: "an unknown outcome is taken for an answer",
		edits: []edit{{foreign, "\treturn x.parkCall(ctx, err)\n}\n\n// abandoned",
			"\tx.answered = append(x.answered, p.name)\n\tx.reached++\n\treturn nil\n}\n\n// abandoned"}},
		pkg:  phaseTest,
		test: "TestUnknownOutcome/it is parked, never stored, and the retry finishes under the same key",
	},
	{
		name:  "attempts are counted while nothing can be sent",
		edits: []edit{{foreign, "sent := !unsent(cause)", "sent := true"}},
		pkg:   phaseTest, test: "TestNotSent/what never left burns no attempt, however often",
	},
	{
		name:  "a call is sent again after the acquirer has forgotten its key",
		edits: []edit{{foreign, "Send, x.databaseTime().Sub(call.SentAt) > p.keyRetention", "Send, false"}},
		pkg:   phaseTest,
		test:  "TestMemoryWindow/a call whose key the acquirer may have forgotten is looked up and never sent again",
	},
	{
		name: "unsent work is abandoned without a tombstone at the acquirer",
		edits: []edit{{foreign, "\t\terr = x.send(ctx, call, mode)\n\t}\n\tvar retired",
			"\t\terr = ErrReversed\n\t}\n\tvar retired"}},
		pkg: phaseTest, test: "TestAbandon/a late packet under its key is refused",
	},
	{
		name: "a client that hangs up stops what it began",
		edits: []edit{{serve, "context.WithTimeout(context.WithoutCancel(client), executionTimeout)",
			"context.WithTimeout(client, executionTimeout)"}},
		pkg: phaseTest, test: "TestKey/a client that hangs up does not stop what it began",
	},
	{
		name: "a refusal is returned without another look at the key",
		edits: []edit{{serve, "lost == nil && found != nil {\n\t\treturn errTaken",
			"lost == nil && found != nil {\n\t\treturn err"}},
		pkg: phaseTest, test: "TestKey/what its own first attempt has done does not refuse a retry",
	},
	{
		name: "a replay encodes the answer again",
		edits: []edit{{serve, "	\"context\"\n", "	\"context\"\n	\"encoding/json\"\n"},
			{serve, "case found.State == idempotency.Finished:\n", `case found.State == idempotency.Finished:
			var body any
			_ = json.Unmarshal(found.Response.Body, &body)
			found.Response.Body, _ = json.Marshal(body)
`}},
		pkg: phaseTest, test: "TestKey/a replay is the first answer, byte for byte",
	},
	{
		name: "the completer acts in its own name",
		edits: []edit{{execution, "\tif r.KeyGenerated {\n\t\tc.Key = \"\"\n\t}\n", `	if r.KeyGenerated {
		c.Key = ""
	}
	if !x.clientWaiting {
		c.Actor = x.engine.owner
	}
`}},
		pkg: phaseTest, test: "TestCompleter/it acts for the original caller",
	},
	{
		name: "the completer takes work from processes that live",
		edits: []edit{{"internal/idempotency/find.go",
			"const Alive = `is_ahead(w.alive_until, '1 s')`", "const Alive = `NOT is_ahead(w.alive_until, '1 s')`"}},
		pkg: phaseTest, test: "TestCompleter/it leaves alone what a live process drives, however slowly",
	},
	{
		name:  "the completer's next slot goes to the account with the most work",
		edits: []edit{{resume, "coalesce(o.turns, 0) + row_number()", "row_number()"}},
		pkg:   phaseTest, test: "TestCompleter/nor does what is driven for it already",
	},
	{
		name: "one account's reads may take every slot",
		edits: []edit{
			{"internal/process/limits.go", "limit.NewShares(slots,", "limit.NewShares(0,"},
		},
		pkg: apiTest, test: "TestOverload/an account that reads slowly, or searches, takes no slot from the others",
	},
	{
		name: "one account's reads take no turns",
		edits: []edit{
			{"internal/process/limits.go", "Turns: ofAnAccount", "Turns: nil"},
		},
		pkg: "./internal/process", test: "TestTurns/reads",
	},
	{
		name: "one account's reads and transactions do not share turns",
		edits: []edit{
			{"internal/process/limits.go", "Turns: ofAnAccount", "Turns: limit.NewTurns(turns)"},
		},
		pkg: "./internal/process", test: "TestTurns/transactions and reads",
	},
	{
		name: "one account's searches take no turns",
		edits: []edit{
			{"internal/process/limits.go", "limit.NewTurns((turns + 1) / 2)", "nil"},
		},
		pkg: "./internal/process", test: "TestTurns/searches",
	},
	{
		name:  "one account's transactions take no turns",
		edits: []edit{{execution, "x.engine.turns.Enter(", "unlimited{}.Enter("}},
		pkg:   phaseTest, test: "TestTurns/a request has a turn for each transaction and none during the call",
	},
	{
		name:  "an account never waits for its turn",
		edits: []edit{{"internal/limit/turns.go", "l.inside < t.atOnce || ", "true || "}},
		pkg:   "./internal/limit",
		test:  "TestTurns/beside another account its requests take turns, in order",
	},
	{
		name:  "an intent is changed while it is created and paid",
		edits: []edit{{"internal/payment/payment_intent_update.go", "if intent.isBeingCreated() {", "if false {"}},
		pkg:   paymentsTest, test: "TestAChangeOfAnIntentWhileItIsPaid/an intent that is being created is not changed",
	},
	{
		name:  "a check that meets a busy database is a fault of ours",
		edits: []edit{{serve, "e.nothingStored(in.key.Key, in.recheck(ctx, err))", "in.recheck(ctx, err)"}},
		pkg:   phaseTest, test: "TestKey/a database that has no time before the claim is no fault of the request",
	},
	{
		name:  "a first transaction that meets a busy database is a fault of ours",
		edits: []edit{{serve, "x.engine.nothingStored(x.request.Key, err)", "err"}},
		pkg:   phaseTest, test: "TestKey/a database that has no time before the claim is no fault of the request",
	},
	{
		name: "a canceled statement is a fault of ours",
		edits: []edit{{"internal/postgres/errors.go",
			"cannotConnectNow, readOnly, queryCanceled, lockNotAvailable:",
			"cannotConnectNow, readOnly, lockNotAvailable:"}},
		pkg: phaseTest, test: "TestKey/a database that has no time before the claim is no fault of the request",
	},
	{
		name: "a phase whose plan is stale is not run again",
		edits: []edit{{"internal/postgres/errors.go", "code == deadlockDetected || IsStalePlan(err)",
			"code == deadlockDetected"}},
		pkg: phaseTest, test: "TestKey/a phase whose statement a migration has changed runs again",
	},
	{
		name: "the reaper does not look at the expiry",
		edits: []edit{{"internal/idempotency/reap.go", "a.expires_at < statement_timestamp()",
			"a.expires_at IS NOT NULL"}},
		pkg: rowTest, test: "TestReap/an answer that is still to be replayed stays",
	},
	{
		name: "the reaper reads all finished requests to find those that are due",
		edits: []edit{{"internal/idempotency/reap.go", "a.expires_at < statement_timestamp()",
			"a.expires_at < clock_timestamp()"}},
		pkg: rowTest, test: "TestReapLooksAtWhatIsDue",
	},
	{
		name: "a list of customers sorts all there are",
		edits: []edit{{"internal/customer/customer.go",
			"(@test_clock::text IS NULL AND test_clock IS NULL OR test_clock = @test_clock)",
			"test_clock IS NOT DISTINCT FROM @test_clock"}},
		pkg:  "./internal/customer",
		test: "TestPlans/a page of customers is read in the order of the primary key, and no further",
	},
	{
		name:  "sealing stops at a transaction that fills more than a block",
		edits: []edit{{"internal/audit/seal.go", "greatest(beyond.xid, first.xid + 1)", "beyond.xid"}},
		pkg:   "./internal/audit", test: "TestABacklogIsSealedBlockByBlock/a block is full, or holds one transaction",
	},
	{
		name: "each block of the audit trail sorts the backlog",
		edits: []edit{{"migrations/000013_audit.up.sql",
			"CREATE INDEX audit_events_in_order ON audit_events (cluster, xid);",
			"CREATE INDEX audit_events_in_order ON audit_events (xid, cluster) WHERE false;"}},
		pkg:  "./internal/audit",
		test: "TestABacklogIsSealedBlockByBlock/the end of a block is found without sorting the backlog",
	},
	{
		name:  "browsers share the idempotency keys of the merchant's server",
		edits: []edit{{"internal/api/request.go", "return apirequest.BrowserKeys + r.key", "return r.key"}},
		pkg:   apiTest,
		test:  "TestBrowsersHaveIdempotencyKeysOfTheirOwn/a key that a browser took is free for the merchant's server",
	},
	{
		name: "a claim that commits after its connection was lost keeps its key for as long as its lease",
		edits: []edit{
			{"internal/phase/execution.go", "commits, nothing executes it.\n		x.engine.doubt()\n",
				"commits, nothing executes it.\n"},
			{"internal/phase/execution.go", "x.engine.doubt() // our own insert", "// our own insert"},
		},
		pkg: "./internal/phase", test: "TestHandover/a claim that commits after its connection was lost is parked",
	},
	{
		name: "a card that was detached during its challenge is charged",
		edits: []edit{{"internal/customer/payment_method.go", "return method, method.RefuseUse(customer), nil",
			"return method, nil, nil"}},
		pkg: sdkTest, test: "TestMethodsOfAChallenge/a card that is detached meanwhile is not charged",
	},
	{
		name: "a payment writes back the method that it read before the call",
		edits: []edit{{"internal/customer/payment_method.go",
			"CASE WHEN t.customer_id IS NULL THEN coalesce(t.spent_by, m.spent_by) ELSE t.spent_by END", "m.spent_by"}},
		pkg: "./internal/payment", test: "TestAChangeOfAMethodWhileItIsUsed/a card that pays and is attached",
	},
	{
		name:  "a client can take the key of a background job",
		edits: []edit{{"internal/api/request.go", "case strings.HasPrefix(key, apirequest.JobKeys):", "case false:"}},
		pkg:   apiTest, test: "TestBrowsersHaveIdempotencyKeysOfTheirOwn/no key reaches into those of background jobs",
	},
	{
		name: "a proof keeps the time limit of its session",
		edits: []edit{{"internal/verify/verify.go", "SELECT set_config('statement_timeout', '0', true)",
			"SELECT set_config('application_name', 'proof', true)"}},
		pkg: "./internal/verify", test: "TestNoProofTimesOut",
	},
	{
		name: "archiving reads the whole archive for every response",
		edits: []edit{{"migrations/000017_archiving.up.sql", "SET enable_seqscan = off",
			"SET enable_seqscan = on"}},
		pkg: rowTest, test: "TestArchivingFindsCopiesByKey",
	},
	{
		name: "responses stay as large as they are",
		edits: []edit{{"migrations/000016_compression.up.sql",
			"ALTER TABLE answers ALTER COLUMN body SET COMPRESSION lz4;",
			"ALTER TABLE answers ALTER COLUMN body SET STORAGE EXTERNAL;"}},
		pkg: apiTest, test: "TestResponsesAndEventsAreCompressed",
	},
	{
		name: "verify takes every fee for the right one",
		edits: []edit{{"internal/verify/rules_terms.go", "FROM terms WHERE fee <> wanted",
			"FROM terms WHERE fee <> wanted AND false"}},
		pkg: "./internal/verify", test: "TestEveryDamageIsSeen/a charge cost more",
	},
	{
		name: "verify takes a delivery that was never tried for one that failed",
		edits: []edit{{"internal/verify/rules_terms.go",
			"(d.failures = 0 OR a.attempt IS NULL OR a.status BETWEEN 200 AND 299)", "a.status BETWEEN 200 AND 299"}},
		pkg: "./internal/verify", test: "TestEveryDamageIsSeen/a delivery is given up that was never tried",
	},
	{
		name: "the digest of an answer leaves out its bytes",
		edits: []edit{{"internal/audit/answer.go", "d.bytes(answer.Body)", "d.bytes(nil)"},
			{"internal/verify/rules_evidence.go", "coalesce(a.body, c.body) AS body,", "''::bytea AS body,"}},
		pkg: "./internal/verify", test: "TestEveryDamageIsSeen/an answer says another amount",
	},
	{
		name: "verify excuses details that are missing from the trail",
		edits: []edit{
			{"internal/verify/rules_evidence.go", "WHERE e.details IS NULL\n\t\t\t  AND NOT EXISTS",
				"WHERE false\n\t\t\t  AND NOT EXISTS"},
			{"internal/verify/rules_evidence.go",
				"OR e.details IS NULL AND (e.actor LIKE 'operator:%' AND e.answer_digest IS NULL OR a.redacted_at " +
					"IS NULL)", ""},
		},
		pkg: "./internal/verify", test: "TestEveryDamageIsSeen/an audit row is stripped of its details",
	},
	{
		name: "verify accepts a key that no request made",
		edits: []edit{{"internal/verify/rules_evidence.go", "FROM known k WHERE k.id NOT IN (SELECT id FROM made)",
			"FROM known k WHERE k.id IN (SELECT id FROM made WHERE false)"}},
		pkg: "./internal/verify", test: "TestEveryDamageIsSeen/a key is put in by hand",
	},
	{
		name: "the chain of the audit trail has no key",
		edits: []edit{{"internal/audit/seal.go", "hmac.New(sha256.New, key)", "hmac.New(sha256.New, nil)"},
			{"internal/verify/chain.go", "hmac.New(sha256.New, t.key(b))", "hmac.New(sha256.New, nil)"}},
		pkg:  "./internal/verify",
		test: "TestTheChainIsKeyed/a chain that was computed again under another key is noticed",
	},
	{
		name:  "verify takes a chain without a key behind one with a key",
		edits: []edit{{"internal/verify/chain.go", "if blocks[len(blocks)-1].Format == unkeyed {", "if false {"}},
		pkg:   "./internal/verify",
		test:  "TestTheChainIsKeyed/a chain that was computed again without a key is noticed",
	},
	{
		name:  "verify cannot name a trail that was left unsealed",
		edits: []edit{{"internal/verify/chain.go", "'its beginning') AS object,", "'its beginning'),"}},
		pkg:   "./internal/verify", test: "TestEveryDamageIsSeen/an audit row has waited to be sealed for long",
	},
	{
		name: "times that are stored come from the application's clock",
		edits: []edit{{execution, "databaseTime() time.Time { return x.now.Add(time.Since(x.started)) }",
			"databaseTime() time.Time { return time.Now() }"}},
		pkg: phaseTest, test: "TestClock/every stored time is the database's, no matter what this machine's clock says",
	},
	{
		name: "liveness comes from the application's clock",
		edits: []edit{
			{liveness, "clock_timestamp(), @secrets, clock_timestamp() + @alive_for::interval)",
				"clock_timestamp(), @secrets, @now::timestamptz + @alive_for::interval)"},
			{liveness, "SET alive_until = clock_timestamp() + @alive_for::interval",
				"SET alive_until = @now::timestamptz + @alive_for::interval"},
			{liveness, `"alive_for": AliveFor})`, `"alive_for": AliveFor, "now": time.Now()})`},
		},
		pkg: rowTest, test: "TestLiveness/a process is as alive as the database's clock says, not its own",
	},
	{
		name:  "a renewal waits on a silent connection for as long as the kernel does",
		edits: []edit{{liveness, "context.WithTimeout(ctx, AliveFor)", "context.WithCancel(ctx)"}},
		pkg:   rowTest,
		test:  "TestLiveness/a connection that goes silent does not make a living process look dead for long",
	},
	{
		name: "the sealer takes everything up to the newest transaction",
		edits: []edit{{"internal/audit/seal.go", "pg_snapshot_xmin(pg_current_snapshot())",
			"pg_snapshot_xmax(pg_current_snapshot())"}},
		pkg: modelTest, test: "TestSeal/a transaction that commits late is in the chain, and the chain holds",
	},
	{
		name: "a request without a place is begun all the same",
		edits: []edit{{serve, "case found == nil && in.full != nil:",
			"case found == nil && in.full != nil && in.keyGenerated:"}},
		pkg: apiTest, test: "TestOverload/new work is turned away before it begins; replays and reads are answered",
	},
	{
		name:  "who waits for the acquirer keeps the place",
		edits: []edit{{foreign, "\tif x.release != nil {\n", "\tif false {\n"}},
		pkg:   apiTest, test: "TestOverload/a request that waits for the acquirer takes no place",
	},
	{
		name:  "a question that could not be sent hides the one before it",
		edits: []edit{{foreign, "; !unsent(again) {", "; again != nil {"}},
		pkg:   apiTest,
		test:  "TestOpenBreaker/a question that was sent counts, also where the breaker kept the second one back",
	},
	{
		name:  "the guard of webhooks looks at nothing",
		edits: []edit{{"internal/webhook/address.go", "if !public(to.Addr()) || ", "if "}},
		pkg:   "./internal/webhook", test: "TestTheGuardStandsAtTheSocket",
	},
	{
		name:  "a redirect of an endpoint is followed",
		edits: []edit{{"internal/webhook/send.go", "return http.ErrUseLastResponse", "return nil"}},
		pkg:   sdkTest, test: "TestWebhooks/a redirect is a failure and is not followed",
	},
	{
		name: "the sweep leaves the deliveries of dead workers",
		edits: []edit{{"internal/webhook/sweep.go", "WHERE w.id = d.claimed_by AND",
			"WHERE d.claimed_by IS NOT NULL AND"}},
		pkg: "./internal/webhook", test: "TestWhoWasOvertaken",
	},
	{
		name: "a signing secret is stored with the answer that shows it",
		edits: []edit{{"internal/phase/encrypt.go", "return cipherMark + sealed, err",
			"_ = sealed\n\treturn text, err"}},
		pkg:  sdkTest,
		test: "TestWebhookEndpoints/a secret is shown by the creation and its replay, and is nowhere in the database",
	},
	{
		name: "an endpoint has as many deliveries under way as there are events",
		edits: []edit{{"internal/webhook/claim.go", "@lanes > (SELECT count(*)",
			"@lanes::int > 0 AND 0 <= (SELECT count(*)"}},
		pkg: "./internal/webhook", test: "TestLanes",
	},
	{
		name: "a worker that was overtaken may still say that a delivery failed",
		edits: []edit{{"internal/webhook/record.go", "AND (attempts = @attempt OR @state = 'succeeded')",
			"AND (@attempt::int > 0 OR @state = 'succeeded')"}},
		pkg: "./internal/webhook", test: "TestWhoWasOvertaken",
	},
	{
		// One guard is enough: the inbox would not take it again, nor the settlements.
		name: "a message that was applied is applied again, and nothing else guards its settlement",
		edits: []edit{
			{"internal/inbox/inbox.go", "\tcase known.State == Applied:\n\t\treturn nil\n\t}\n\treturn b.try(ctx, m)",
				"\t}\n\treturn b.try(ctx, m)"},
			{"internal/inbox/inbox.go", "applied_at = excluded.applied_at\n\tWHERE inbox.state <> 'applied' AND",
				"applied_at = excluded.applied_at\n\tWHERE"},
			{"migrations/000010_inbox.up.sql", "WHEN (OLD.state = 'applied'\n       OR (NEW.source",
				"WHEN ((NEW.source"},
			{"migrations/000011_payouts.up.sql", "settlements_one_per_movement PRIMARY KEY (",
				"settlements_one_per_movement PRIMARY KEY (request_id, "},
		},
		pkg: crashTest, test: "TestEveryBoundaryOfADelivery/batch.settled",
	},
	{
		name: "a leg of a posting may lack a part",
		edits: []edit{{postings,
			"CONSTRAINT ledger_postings_legs_have_no_nulls CHECK (array_position(purposes, NULL) IS NULL\n        AND",
			"CONSTRAINT ledger_postings_legs_have_no_nulls CHECK ("}},
		pkg: schemaTest, test: "TestEveryPromiseIsKept/a fresh database refuses/a leg whose purpose is null",
	},
	{
		name: "a posting is not held to a book that is there",
		edits: []edit{{postings, "IF NOT EXISTS (SELECT FROM public.ledger_books b WHERE b.id = NEW.book_id) THEN",
			"IF false THEN"}},
		pkg:  schemaTest,
		test: "TestEveryPromiseIsKept/a fresh database refuses/a posting in a book that does not exist",
	},
	{
		name: "the trial balance counts one leg of a posting",
		edits: []edit{{balances,
			"AS credits\n              FROM ledger_postings p\n             CROSS JOIN LATERAL unnest(p.debits, " +
				"p.credits, p.amounts)",
			"AS credits\n              FROM ledger_postings p\n             CROSS JOIN LATERAL " +
				"unnest(p.debits[1:1], p.credits[1:1], p.amounts[1:1])"}},
		pkg: schemaTest, test: "TestClosedPeriodsChangeNoBalance",
	},
	{
		name: "a settled movement whose charge is not here yet is forgotten",
		edits: []edit{{"internal/payout/settlement.go",
			"FROM judged WHERE wrong IS NULL AND charge_id IS NULL ORDER BY",
			"FROM judged WHERE wrong IS NULL AND charge_id = '' ORDER BY"}},
		pkg:  paymentsTest,
		test: "TestSettlementBatches/movements whose charges are not here wait, and are booked when they are",
	},
	{
		name: "a movement that was settled with another amount is taken for the same",
		edits: []edit{{"internal/payout/settlement.go",
			"WHEN (s.amount, s.currency, s.livemode, c.acquirer_reference)",
			"WHEN (t.amount, s.currency, s.livemode, c.acquirer_reference)"}},
		pkg:  paymentsTest,
		test: "TestSettlementBatches/a movement that contradicts is set aside, and the rest of its part is booked",
	},
	{
		name: "a batch is posted as its net sum",
		edits: []edit{{"internal/payout/settlement.go",
			"ledger.Settlement(posting, made.ID, of.Currency, paid, taken, tx.Now())",
			"ledger.Settlement(posting, made.ID, of.Currency, max(paid-taken, 0), max(taken-paid, 0), tx.Now())"}},
		pkg: paymentsTest, test: "TestSettlementBatches/a batch whose refunds equal its sales has a leg for each",
	},
	{
		name:  "verify excuses a lost charge while a message about it waits",
		edits: []edit{{"internal/verify/acquirer.go", "there && ours[reference] {", "there {"}},
		pkg:   "./internal/verify", test: "TestEveryDamageIsSeen/charges are lost, and messages about them wait",
	},
	{
		name: "the signature of a notification is not looked at",
		edits: []edit{{"internal/api/notifications.go",
			"err = acquirer.CheckSignature(s.notificationSecret, h.Header.Get(acquirer.SignatureHeader), body, " +
				"time.Now())",
			"_ = acquirer.CheckSignature(s.notificationSecret, h.Header.Get(acquirer.SignatureHeader), body, " +
				"time.Now())"}},
		pkg: sdkTest, test: "TestNotificationsInAnyOrder",
	},
	{
		name: "the fee of a dispute is booked twice",
		edits: []edit{{"internal/ledger/posting.go", "{Fee, MerchantBalance, DisputeFeeRevenue, fee},",
			"{Fee, MerchantBalance, DisputeFeeRevenue, 2 * fee},"}},
		pkg: sdkTest, test: "TestDisputes/a chargeback takes the money and a fee, and gives both back when it is won",
	},
	{
		name: "a session is charged without reserving the redemption of its coupon",
		edits: []edit{{confirm,
			"if err := session.reserveCoupon(ctx, tx); err != nil {\n\t\treturn phase.Outcome{}, err\n\t}\n", "\n"}},
		pkg: sdkTest,
		test: "TestDiscountedCheckout/of sessions that race for the last redemption one is paid, and no other is " +
			"charged",
	},
	{
		name: "a coupon is not locked while its redemption is reserved",
		edits: []edit{{"internal/catalog/coupon_redeem.go",
			"lockAnyCoupon = allCoupons + ` AND id = @id FOR NO KEY UPDATE`",
			"lockAnyCoupon = allCoupons + ` AND id = @id`"}},
		pkg: sdkTest,
		test: "TestDiscountedCheckout/of sessions that race for the last redemption one is paid, and no other is " +
			"charged",
	},
	{
		name:  "a declined session keeps its redemption",
		edits: []edit{{"internal/payment/payment_intent_confirm.go", "\t\t\towner.Declined(tx)\n", "\n"}},
		pkg:   sdkTest,
		test: "TestDiscountedCheckout/a session that is declined can be shipped otherwise and is paid with the " +
			"same intent",
	},
	{
		name: "a coupon is reserved more often than it can be redeemed",
		edits: []edit{{"migrations/000012_checkout.up.sql",
			"CHECK (times_redeemed + times_reserved <= max_redemptions)", "CHECK (true)"}},
		pkg: schemaTest,
		test: "TestEveryPromiseIsKept/a fresh database refuses/a coupon that is reserved once more than it can be " +
			"redeemed",
	},
	{
		name:  "the page charges a total that it has not shown",
		edits: []edit{{"internal/checkout/pay.go", `shown != "" && shown !=`, `shown == "" && shown !=`}},
		pkg:   "./internal/checkout",
		test:  "TestShippingWithoutJavaScript/a total that the page did not show is not charged",
	},
	{
		name: "a payout does not look at what is available",
		edits: []edit{
			{balances, "IF ledger_available(of_book) < amount THEN\n        RAISE", "IF false THEN\n        RAISE"},
			{balances, "IF ledger_available(of_book) < amount THEN\n        RETURN false",
				"IF false THEN\n        RETURN false"},
		},
		pkg: sdkTest, test: "TestPayout/a payout takes what is available, and waits an hour before it leaves",
	},
	{
		name: "a payout looks at what is available without the lock of the book",
		edits: []edit{
			{balances, "    PERFORM FROM ledger_books WHERE id = of_book FOR NO KEY UPDATE;\n    IF " +
				"ledger_available(of_book) < amount THEN\n        RAISE",
				"    IF ledger_available(of_book) < amount THEN\n        RAISE"},
			{balances, "    PERFORM FROM ledger_books WHERE id = of_book FOR NO KEY UPDATE;\n    IF " +
				"ledger_available(of_book) < amount THEN\n        RETURN false",
				"    IF ledger_available(of_book) < amount THEN\n        RETURN false"},
		},
		pkg:  schemaTest,
		test: "TestPayoutsRacingForOneBalance/8 at once take out what was available and never a unit more",
	},
	{
		name: "a period is closed while a posting of its time is under way",
		edits: []edit{{"internal/ledger/period.go", "\tcase now.Oldest < c.noted.XID:\n\t\treturn time.Time{}, nil\n",
			""}},
		pkg: schemaTest, test: "TestNoPeriodIsClosedOverAPostingUnderWay",
	},
	{
		name:  "a balance forgets what matures within a period",
		edits: []edit{{balances, "p.matures_from <= at AND p.matures_until > at", "false"}},
		pkg:   schemaTest, test: "TestClosedPeriodsChangeNoBalance",
	},
	{
		name: "an intent may succeed twice, says the table",
		edits: []edit{{charges, "charges_intent_is_paid_once ON charges (",
			"charges_intent_is_paid_once ON charges (id, "}},
		pkg: schemaTest, test: "TestEveryPromiseIsKept/a fresh database refuses/a second charge that pays an intent",
	},
	{
		name: "an intent may succeed twice, say the table and the rules",
		edits: []edit{
			{charges, "charges_intent_is_paid_once ON charges (", "charges_intent_is_paid_once ON charges (id, "},
			{"internal/payment/payment_intent_confirm.go",
				"\tif intent.LockedBy != nil {\n\t\treturn phase.Outcome{}, apierror.Locked()\n\t}\n\tif refusal := " +
					"intent.refuseDirectly", "\tif refusal := intent.refuseDirectly"},
			{"internal/payment/payment_intent_confirm.go",
				"if refusal := intent.RefuseConfirm(in.Method(), sent, in.ConfirmParams); refusal != nil {",
				"if refusal := intent.RefuseConfirm(in.Method(), sent, in.ConfirmParams); false && refusal != nil {"},
		},
		pkg: "./internal/payment", test: "TestRaces/of fifty confirmations at once one takes the money",
	},
	{
		name: "a webhook is signed with the time at which its delivery was created, however late the attempt",
		edits: []edit{{"internal/webhook/claim.go", "RETURNING event_id, attempt, started_at`",
			"RETURNING event_id, attempt, (SELECT d.created_at FROM webhook_deliveries d WHERE d.event_id = " +
				"webhook_attempts.event_id AND d.endpoint_id = webhook_attempts.endpoint_id)`"}},
		pkg: sdkTest, test: "TestWebhooks/what fails is tried again, with a new signature",
	},
	{
		name: "a delivery is written down as made before the answer is there",
		edits: []edit{{"internal/webhook/deliver.go", "\tresult := d.send(ctx, c)\n", `	result := Result{Status: 200}
	if _, err := d.record(ctx, c, result); err != nil {
		return err
	}
	d.send(ctx, c)
`}},
		pkg: sdkTest, test: "TestWebhooksOutliveTheirWorker",
	},
	{
		name:  "an erased customer keeps the name",
		edits: []edit{{"internal/privacy/erase.go", "UPDATE customers SET name = NULL, ", "UPDATE customers SET "}},
		pkg:   "./internal/privacy",
		test:  "TestErase/nothing is left of a person, the books still agree, and the chain holds",
	},
	{
		name: "evidence outlives the person",
		edits: []edit{{"internal/privacy/erase.go", "SET evidence = redact_pii(evidence, true), metadata",
			"SET metadata"}},
		pkg:  "./internal/privacy",
		test: "TestErase/nothing is left of a person, the books still agree, and the chain holds",
	},
	{
		name:  "a retry of a lost charge does not look for the adopted one",
		edits: []edit{{"internal/payment/charge_create.go", "if s.Result.Replayed {", "if false {"}},
		pkg:   sdkTest,
		test:  "TestAdoption/a retry of a lost request is answered with what was adopted, and charges no card",
	},
	{
		name: "a retry of a lost payment does not look for the adopted charge",
		edits: []edit{{"internal/payment/payment_intent_confirm.go", "if s.Result.Approved && s.Result.Replayed {",
			"if false {"}},
		pkg:  sdkTest,
		test: "TestAdoption/a retry of a lost request is answered with what was adopted, and charges no card",
	},
	{
		name:  "a retry of a lost refund does not look for the adopted one",
		edits: []edit{{"internal/payment/adopt.go", "if c.AmountRefunded == 0 {", "if true {"}},
		pkg:   sdkTest,
		test:  "TestAdoption/a retry of a lost request is answered with what was adopted, and charges no card",
	},
	{
		name:  "the acquirer does not say that it replays",
		edits: []edit{{"internal/acquirer/simulator/book.go", "\tr.replayed = true\n", ""}},
		pkg:   "./internal/acquirer/simulator", test: "TestAuthorizations/a replay says so, and its body is the same",
	},
	{
		name: "verify takes an adopted movement for a stranger's",
		edits: []edit{{"internal/verify/acquirer.go", "FROM requests WHERE flow IN (` + adoptions + `)) k",
			"FROM requests WHERE false) k"}},
		pkg: sdkTest, test: "TestAdoption/every movement is adopted, once",
	},
	{
		name: "the worker verifies nothing that is new",
		edits: []edit{{"internal/verify/since.go", "FROM answers WHERE finished_at >= @since",
			"FROM answers WHERE finished_at >= @since AND false"}, {"internal/verify/since.go",
			"FROM requests q WHERE q.created_at >= @since", "FROM requests q WHERE q.created_at >= @since AND false"},
			{"internal/verify/since.go", "const postedSince = `p.created_at",
				"const postedSince = `false AND p.created_at"}},
		pkg: "./internal/worker", test: "TestVerifyRuns/a damaged row is noticed, logged once and counted",
	},
	{
		name: "an event of one mode is queued for listeners of the other",
		edits: []edit{{"internal/event/event.go", "e.account_id = m.account_id AND e.livemode = m.livemode",
			"e.account_id = m.account_id"}},
		pkg: sdkTest, test: "TestStripeCLI/listen forwards what happens, signed, and records what the server answers",
	},
	{
		name: "an event of one account is queued for listeners of another",
		edits: []edit{{"internal/event/event.go",
			"JOIN webhook_endpoints e ON e.account_id = m.account_id AND", "JOIN webhook_endpoints e ON"}},
		pkg: sdkTest, test: "TestStripeCLI/listen forwards what happens, signed, and records what the server answers",
	},
	{
		name: "the log of one account is shown to another",
		edits: []edit{{"internal/stripecli/logs.go", "if s.AccountID != r.AccountID || s.Livemode != r.Livemode ||",
			"if"},
			{"internal/stripecli/logs.go", "return s.AccountID == accountID && s.Livemode == livemode", "return true"}},
		pkg:  sdkTest,
		test: "TestStripeCLI/the log shows requests as they happen, and only those asked for",
	},
	{
		name:  "a process starts under another secret",
		edits: []edit{{"internal/process/secret.go", "missing = true", "missing = false"}},
		pkg:   sdkTest, test: "TestRootSecret/a server is refused under another secret",
	},
	{
		name: "the keys of calls follow a rotation",
		edits: []edit{{"internal/process/process.go", "p.roots.Keys(secret.Idempotency).Oldest(),",
			"p.roots.Keys(secret.Idempotency).InUse()[0],"}},
		pkg: sdkTest, test: "TestRotationAfterALostRequest",
	},
	{
		name: "a retry is compared under the newest secret alone",
		edits: []edit{{"internal/phase/serve.go", "slices.ContainsFunc(in.Otherwise,",
			"slices.ContainsFunc(in.Otherwise[:0],"}},
		pkg: sdkTest, test: "TestRotation/no request failed",
	},
	{
		name:  "a rotation does not look at the processes",
		edits: []edit{{"internal/process/rotate.go", "if len(uninformed) == 0 {", "if true {"}},
		pkg:   sdkTest, test: "TestRotation/it is refused while a process does not have the new secret",
	},
	{
		name: "verify takes any user for one that the trail knows",
		edits: []edit{{"internal/verify/rules_people.go", "WHERE u.is IS DISTINCT FROM s.says\n",
			"WHERE s.id IS NOT NULL AND u.is IS DISTINCT FROM s.says\n"}},
		pkg: "./internal/verify", test: "TestEveryDamageIsSeen/a user is put in by hand",
	},
	{
		name: "verify does not compare second factors",
		edits: []edit{{"internal/verify/rules_people.go", "WHERE u.is IS DISTINCT FROM s.says\n",
			"WHERE u.is - 'totp' - 'recovery' IS DISTINCT FROM s.says - 'totp' - 'recovery'\n"}},
		pkg: "./internal/verify", test: "TestEveryDamageIsSeen/a user's second factor is removed",
	},
	{
		name: "verify takes any session for one that began with a login",
		edits: []edit{{"internal/verify/rules_people.go", "WHERE s.complete AND NOT EXISTS (",
			"WHERE s.complete AND s.user_id IS NULL AND NOT EXISTS ("}},
		pkg: "./internal/verify", test: "TestEveryDamageIsSeen/a session is put in by hand",
	},
	{
		name:  "verify takes one login for all sessions of a user",
		edits: []edit{{"internal/verify/rules_people.go", "e.object_id = s.id AND e.status = 200", "e.status = 200"}},
		pkg:   "./internal/verify", test: "TestEveryDamageIsSeen/a session without its second factor opens",
	},
	{
		name: "a WebSocket ID needs no proof",
		edits: []edit{{"internal/stripecli/stripecli.go",
			"hmac.Equal([]byte(given), []byte(proof(key, accountID, sessionID)))", "given != accountID"}},
		pkg: sdkTest, test: "TestStripeCLISessions/its WebSocket ID opens it and nothing else",
	},
	{
		name: "what a listener did not acknowledge is lost when it reconnects",
		edits: []edit{{"internal/stripecli/socket.go",
			"\t\ts.release(ctx) // what an earlier connection has sent is sent again\n", ""},
			{"internal/stripecli/socket.go", "\t\ts.release(context.WithoutCancel(ctx))\n", ""},
			{"internal/stripecli/events.go", "claimTime = time.Minute", "claimTime = time.Hour"}},
		pkg: sdkTest, test: "TestStripeCLISessions/what a client did not acknowledge is sent again when it reconnects",
	},
	{
		name: "a set of updates finds its rows by their IDs, in any account",
		edits: []edit{{"internal/postgres/table.go", "WHERE t.account_id = m.account_id AND t.id = m.id AND",
			"WHERE t.id = m.id AND"}},
		pkg: "./test/house", test: "TestEveryStatementStaysInOneAccount",
	},
	{
		name: "the acquirer answers another order under a key that it knows, and the client believes it",
		edits: []edit{{"internal/acquirer/simulator/book.go",
			"if known.state == done && !known.asked.Same(asked) {", "if false {"},
			{"internal/acquirer/client.go", " || !done.Order.Same(asked.Order) {", " {"}},
		pkg: conformance,
		test: "TestConformance/a key moves the card once/" +
			"the same key with another order is refused, which proves nothing",
	},
	{
		name: "the acquirer refunds what it has refunded before",
		edits: []edit{{"internal/acquirer/simulator/book.go", "order.Amount > auth.captured-auth.refunded",
			"order.Amount > auth.captured"}},
		pkg:  conformance,
		test: "TestConformance/no more is moved than there is/concurrent refunds return at most what was captured",
	},
	{
		name:  "a call whose answer was lost counts as not sent",
		edits: []edit{{"internal/acquirer/client.go", "if !connected.Load() {", "if true {"}},
		pkg:   conformance,
		test: "TestConformance/a missing answer is unknown/" +
			"a lost answer is unknown, and a retry gets it without moving the card again",
	},
	{
		name: "a reversal leaves no tombstone",
		edits: []edit{{"internal/acquirer/simulator/book_reverse.go",
			"b.operations[key] = &operation{key: key, state: reversed, change: inserted}\n", "_ = op\n"}},
		pkg:  conformance,
		test: "TestConformance/a reversal undoes its key for good/an order that arrives after its reversal is refused",
	},
}
