#!/usr/bin/env bash
# Runs the browser's tests, one file after the other. A file with a failure runs once more: a browser, a demo of five
# processes and a killed server share two cores here, and not every failure is the product's. One that repeats fails the
# run. One that does not repeat is printed as FLAKY: find its cause, because it can be a race that a customer meets.
set -uo pipefail

run() {
	node --test --test-concurrency=1 --test-timeout=1500000 \
		--test-reporter=tap --test-reporter-destination=stdout \
		--test-reporter=tap --test-reporter-destination=result.tap "$@"
}

run && exit 0
mapfile -t failed < <(grep -A8 '^not ok' result.tap | sed -n "s/.*location: '\(.*\.test\.mjs\):.*/\1/p" | sort -u)
if [ "$(grep -c '^not ok' result.tap)" != "$(grep -A8 '^not ok' result.tap | grep -c "location: '.*\.test\.mjs:")" ]; then
	echo "# a failure names no file that could run again"
	exit 1
fi
grep '^ *not ok' result.tap | sed 's/^ *not ok [0-9]* - /# failed in the first run: /'
echo "# running again: ${failed[*]}"
run "${failed[@]}" || exit 1
echo "# FLAKY: the failures above did not repeat"
