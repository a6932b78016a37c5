package house_test

// acrossAccounts are the statements that read or change rows of more than one account, and why each may. A name that
// ends with a slash is a package. No statement that answers a request of the public API under an API key is here.
var acrossAccounts = []struct {
	because    string
	statements []string
}{
	{
		because: "it proves the books of all accounts",
		statements: []string{"internal/verify/", "internal/payout/reconcile.go:bookedCharges",
			"internal/payout/reconcile.go:bookedPayouts", "internal/payout/reconcile.go:bookedRecalls",
			"internal/payout/reconcile.go:bookedRefunds", "internal/payout/reconcile.go:compareSettlement"},
	},
	{
		because: "the people who operate an installation see all of its accounts; each page needs a login and a role",
		statements: []string{"internal/dashboard/", "internal/inspect/", "internal/login/activity.go:selectActs",
			"internal/account/account.go:listAccounts", "internal/idempotency/operate.go:listRequests",
			"internal/idempotency/operate.go:listUnfinished", "internal/idempotency/operate.go:lookRequestUp"},
	},
	{
		because: "an operator names one object by its ID, and each act leaves an audit row",
		statements: []string{"internal/apikey/list.go:listKeys", "internal/apikey/revoke.go:lockKey",
			"internal/apikey/revoke.go:expireKey", "internal/privacy/find.go:findSubject",
			"internal/ledger/operate.go:selectPosting",
			"internal/webhook/operate.go:rollSecret", "internal/webhook/operate.go:eventExists",
			"internal/webhook/operate.go:modeOfEvent", "internal/webhook/operate.go:resendEvent",
			"internal/webhook/operate.go:selectAttempts"},
	},
	{
		because:    "the lab and the samples show an installation of their own, with the demo's accounts in it",
		statements: []string{"internal/lab/", "internal/docsite/"},
	},
	{
		because: "a secret in the request finds the account: an API key, or the address of a page that has no API key",
		statements: []string{"internal/apikey/apikey.go:findKey", "internal/challenge/challenge.go:challengeByName",
			"internal/session/link.go:linkVisitByID", "internal/session/payment_page.go:visitByID"},
	},
	{
		because: "the acquirer knows no accounts: its signed message names an authorization or an event",
		statements: []string{"internal/payment/notification.go:ChargeOfAuthorization",
			"internal/inbox/inbox.go:keepMessage", "internal/inbox/inbox.go:takeMessage"},
	},
	{
		because: "the worker looks in all accounts for what is due, and then runs one request of one account for each",
		statements: []string{"internal/customer/test_clock_advance.go:clocksToSetReady",
			"internal/daysum/daysum.go:accountsToCount", "internal/inbox/kept.go:dueKept",
			"internal/idempotency/resume.go:resumeUnfinished", "internal/ledger/period.go:booksToClose",
			"internal/payment/charge_expire.go:selectExpired", "internal/payout/balance_available.go:selectNotifiable",
			"internal/payout/payout_automatic.go:automaticPayoutsDue", "internal/payout/payout_transit.go:payoutsDue",
			"internal/payout/settlement_late.go:lateParts", "internal/payout/settlement_late.go:putOffWaiting",
			"internal/payout/settlement_show.go:chargesToShow", "internal/session/session_expire.go:dueSessions",
			"internal/textindex/textindex.go:accountsToIndex", "internal/webhook/sweep.go:recallFromAhead",
			"internal/webhook/sweep.go:releaseClaims",
			"internal/webhook/sweep.go:wakeOverdue"},
	},
	{
		because:    "a process parks those of its runs that it does not know of, of all accounts",
		statements: []string{"internal/idempotency/operate.go:parkUnexecuted"},
	},
	{
		because: "it moves, seals or counts the rows of all accounts, and shows none of them",
		statements: []string{"internal/audit/seal.go:blockEnd", "internal/audit/seal.go:leftBehind",
			"internal/process/rotate.go:selectUses", "internal/process/secret.go:replaceSecret",
			"internal/audit/seal.go:selectRows", "internal/idempotency/reap.go:archiveExpired",
			"internal/apikey/use.go:recordUses", "internal/worker/gauges.go:countDifferences",
			"internal/worker/gauges.go:countDue", "internal/worker/gauges.go:countUnapplied",
			"internal/worker/gauges.go:countUnbooked", "internal/worker/gauges.go:countUnfinished"},
	},
	{
		because: "messages of the acquirer have no account before they are applied",
		statements: []string{"internal/inbox/kept.go:keptByID", "internal/inbox/kept.go:listAll",
			"internal/inbox/kept.go:listKept", "internal/inbox/kept.go:makeDue",
			"internal/inbox/kept.go:recallFromAhead"},
	},
	{
		because:    "it serves the CLI sessions of one process, whose IDs no client chooses; each is of one account",
		statements: []string{"internal/stripecli/hub.go:selectSessions", "internal/stripecli/hub.go:selectWaiting"},
	},
	{
		because:    "it is the beginning of the statements that complete it, and is not sent in this form",
		statements: []string{"internal/account/account.go:selectAccounts", "internal/inbox/kept.go:selectKept"},
	},
}
