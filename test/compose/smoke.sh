#!/usr/bin/env bash
# Starts docker-compose.yml in a project of its own, charges a card, kills a server in the middle of a charge, and
# verifies the books. Needs a Docker engine; says so where none answers. Removes what it started.
set -euo pipefail
cd "$(dirname "$0")/../.."

if ! docker info >/dev/null 2>&1; then
	echo "compose: not run, because no Docker engine answers here"
	exit 0
fi
export COMPOSE_PROJECT_NAME="ratchet-smoke-$$"
trap 'docker compose down --volumes --timeout 5 >/dev/null 2>&1' EXIT

docker compose up --build --wait
admin() { docker compose run --rm --no-deps -T admin "$@"; }
key=$(admin keys create --account acct_smoke --create-account "Smoke test")
charge() { # PORT KEY
	curl -sS --max-time 20 "http://127.0.0.1:$1/v1/charges" -u "$key:" -H "Idempotency-Key: $2" \
		-d amount=2000 -d currency=usd -d source=tok_visa
}
charge 8080 first | grep -q '"status": "succeeded"' || { echo "compose: the first charge failed"; exit 1; }

RATCHET_ACQUIRER_FAULT=slow:3000 docker compose up --wait acquirer
charge 8080 killed >/dev/null 2>&1 &
sleep 1
docker kill "$(docker compose ps -q serve-a)" >/dev/null
wait || true
for _ in $(seq 60); do
	if charge 8081 killed | grep -q '"status": "succeeded"'; then
		break
	fi
	sleep 1
done
charge 8081 killed | grep -q '"status": "succeeded"' || { echo "compose: the other server did not finish the charge"; exit 1; }

times=$(admin acquirer journal | grep -c capture || true)
admin acquirer journal
admin verify
echo "compose: passed; the journal above shows each card movement once ($times lines)"
