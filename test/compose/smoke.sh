#!/usr/bin/env bash
# Starts docker-compose.yml in a project of its own and does what the file's comments say: charges a card, kills a
# server in the middle of a charge, receives a webhook, opens the dashboard, and verifies the books. Needs a Docker
# engine; says so where none answers. Removes what it started.
set -euo pipefail
cd "$(dirname "$0")/../.."

if ! docker info >/dev/null 2>&1; then
	echo "compose: not run, because no Docker engine answers here"
	exit 0
fi
export COMPOSE_PROJECT_NAME="ratchet-smoke-$$"
work=$(mktemp -d)
receiver=
cleanup() {
	[ -z "$receiver" ] || kill "$receiver" 2>/dev/null || true
	docker compose down --volumes --timeout 5 >/dev/null 2>&1
	rm -rf "$work"
}
trap cleanup EXIT

fail() {
	echo "compose: $1"
	docker compose logs --tail 20 2>/dev/null || true
	exit 1
}
admin() { docker compose run --rm --no-deps -T admin "$@"; }
psql() { docker compose exec -T postgres psql -U postgres -d ratchet -At -c "$1"; }
charge() { # PORT KEY
	curl -sS --max-time 20 "http://127.0.0.1:$1/v1/charges" -u "$key:" -H "Idempotency-Key: $2" \
		-d amount=2000 -d currency=usd -d source=tok_visa
}
eventually() { # WHAT COMMAND…
	local what=$1
	shift
	for _ in $(seq 60); do
		if "$@" >/dev/null 2>&1; then
			return
		fi
		sleep 1
	done
	fail "it never happened that $what"
}
succeeds() { charge "$1" "$2" | grep -q '"status": "succeeded"'; }
notified() { # SERVICE SINCE
	# without a pipe: grep would end it at the first match, and pipefail would count that as a failure
	[[ $(docker compose logs --since "$2" "$1") == */acquirer/notifications* ]]
}

docker compose up --build --wait || fail "the services did not start"
key=$(admin keys create --account acct_smoke --create-account "Smoke test")
succeeds 8080 first || fail "the first charge failed"

sessions="FROM pg_stat_activity a JOIN pg_stat_ssl s USING (pid) JOIN pg_roles r ON r.oid = a.usesysid
	WHERE a.client_addr IS NOT NULL AND a.datname = 'ratchet'"
[ "$(psql "SELECT count(*) > 0 AND NOT bool_or(r.rolsuper OR NOT s.ssl) $sessions")" = t ] ||
	fail "a service is a superuser, or its connection is not encrypted"
plain='PGPASSWORD=$(cat /setup/owner_password) psql "host=postgres user=ratchet_owner dbname=ratchet sslmode=disable"'
docker compose exec -T postgres sh -c "$plain -c 'SELECT 1'" >"$work/plain" 2>&1 &&
	fail "the database accepts an unencrypted connection"
grep -q 'no encryption' "$work/plain" || fail "an unencrypted connection fails with: $(cat "$work/plain")"

# A receiver on this machine, as the comment says.
go build -o "$work/receiver" ./test/compose/receiver
"$work/receiver" 4242 >"$work/received" &
receiver=$!
curl -sS http://127.0.0.1:8080/v1/webhook_endpoints -u "$key:" -d url=http://host.docker.internal:4242/ \
	-d 'enabled_events[]=charge.succeeded' | grep -q '"status": "enabled"' || fail "the webhook endpoint was refused"
succeeds 8080 webhook || fail "the second charge failed"
eventually "a webhook reaches this machine" grep -q 'received charge.succeeded' "$work/received"

RATCHET_ACQUIRER_FAULT=slow:3000 docker compose up --wait acquirer
charge 8080 killed >/dev/null 2>&1 &
killed=$!
sleep 1
docker kill "$(docker compose ps -q serve-a)" >/dev/null
since=$(date -u +%Y-%m-%dT%H:%M:%SZ)
wait "$killed" || true
eventually "the other server finishes the charge" succeeds 8081 killed
eventually "the acquirer's notifications reach serve-b while serve-a is dead" notified serve-b "$since"

docker compose up --wait acquirer # without the fault
docker compose start serve-a
docker compose stop serve-b
since=$(date -u +%Y-%m-%dT%H:%M:%SZ)
eventually "serve-a answers again" succeeds 8080 last
eventually "the acquirer's notifications reach serve-a while serve-b is stopped" notified serve-a "$since"

RATCHET_DASHBOARD=on RATCHET_DASHBOARD_PASSWORD="a password of the smoke test" docker compose up --wait
curl -sS -o /dev/null -w '%{redirect_url}' http://127.0.0.1:8080/dashboard | grep -q login ||
	fail "the dashboard does not ask for its password"

admin acquirer journal | tee "$work/journal"
sales=$(grep -c ' sale ' "$work/journal" || true)
[ "$sales" = 4 ] || fail "four charges made $sales sales at the acquirer"
admin verify
echo "compose: passed; four charges, four sales at the acquirer; webhook, dashboard, TLS and both servers work"
