#!/usr/bin/env bash
# Runs the browser tests, three files at a time, and those first that take longest. A test waits more than it works. A
# file with a failure runs once more, alone: browsers, demos of five processes and killed servers share two cores here,
# and not every failure is the product's. One that repeats fails the run. One that does not repeat is printed as FLAKY:
# find its cause, because it can be a race that a customer meets.
set -uo pipefail

# run FILE says what came of a file when it has ended, in one piece.
run() {
	node --test --test-concurrency=1 --test-timeout=3600000 --test-reporter=tap "$1" >"result.$1.tap" 2>&1 </dev/null
	local passed=$?
	[ "$passed" = 0 ] || echo "$1" >>result.failed
	{ flock 9; echo "# $1"; cat "result.$1.tap"; } 9>result.lock
	return "$passed"
}
export -f run

rm -f result.*
longest=(looks.test.mjs arrival.test.mjs checkout.test.mjs lab.test.mjs stripejs.test.mjs)
others=$(ls ./*.test.mjs | sed 's|^./||' | grep -vxF "$(printf '%s\n' "${longest[@]}")")
printf '%s\n' "${longest[@]}" $others | xargs -P 3 -I{} bash -c 'run {}' && exit 0

mapfile -t failed < <(sort result.failed)
[ "${#failed[@]}" != 0 ] || { echo "# a failure names no file that could run again"; exit 1; }
for file in "${failed[@]}"; do
	sed -n "s/^ *not ok [0-9]* - /# failed in the first run: /p" "result.$file.tap"
done
echo "# running again: ${failed[*]}"
for file in "${failed[@]}"; do
	run "$file" || exit 1
done
echo "# FLAKY: the failures above did not repeat"
