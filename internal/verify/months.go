package verify

// A month of events, or of archived responses, can be detached (migrations/000031_months.up.sql). detached_months says
// which IDs are away with it. When its tables are attached again, all rules apply to it again.

// away is a month (m) that is not attached.
const away = `
	FROM public.detached_months m
	WHERE to_regclass('public.' || m.kind || to_char(m.month, '"_"YYYY_MM')) IS NULL AND m.kind = `

// A request's ID between responseOf and isAway: its archived response is away.
const (
	responseOf = `EXISTS (SELECT` + away + `'archived_answers' AND EXISTS (SELECT FROM (VALUES (`
	isAway     = `)) AS of (id) WHERE of.id >= m.first_id AND of.id < m.next_id))`
)

// Two times between eventsBetween and mayBeAway: an event that was emitted between them may be away. The minute is for
// clocks: an event has the time of its transaction.
const (
	eventsBetween = `EXISTS (SELECT` + away + `'events' AND EXISTS (SELECT FROM (VALUES (`
	mayBeAway     = `)) AS of (since, until)
		WHERE public.id_at('evt', of.since - interval '1 minute') < m.next_id
		  AND public.id_at('evt', of.until + interval '1 minute') >= m.first_id))`
)

// emittedMayBeAway is the same for the events of a request that emitted (t) names.
const emittedMayBeAway = `EXISTS (SELECT FROM public.requests q
	LEFT JOIN public.answers a ON a.account_id = q.account_id AND a.request_id = q.id
	WHERE q.account_id = t.account_id AND q.id = t.request_id
	  AND ` + eventsBetween + `q.created_at, coalesce(a.finished_at, now())` + mayBeAway + `)`
