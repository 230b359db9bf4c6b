#!/usr/bin/env bash
# Runs tests that are built. The last lines name the tests that failed, the time of each target, and the slowest tests.
#
#   test.sh         the short tier: `make test`
#   test.sh long    all tests, with all seeds of simulations: `make test-long`
#   test.sh unit    tests that need no servers
#   test.sh WORDS   the tests that the words choose, of both tiers: --filter REGEX, --skip REGEX
#
# A tier runs in several processes, because most tests wait much longer than they compute. Each process starts servers of its own and runs its tests
# one by one. Tests that a busy machine disturbs run last, alone.
#
# STRATA_TEST_PROCESSES: processes at the same time, 1 to 8, default 2
# STRATA_TEST_TIER:      short or long; the default is the tier above, and long for WORDS
# STRATA_TEST_BUNDLE:    the tests, with the programs beside them, default .build/debug/strataPackageTests.xctest
set -uo pipefail
cd "$(dirname "$0")/.." || exit

bundle=${STRATA_TEST_BUNDLE:-.build/debug/strataPackageTests.xctest}
[ -x "$bundle" ] || { echo "There is no $bundle. scripts/build.sh debug --build-tests makes it." >&2; exit 69; }
most_seconds=20 # The longest that a test case of the short tier may take.

export NO_COLOR=1 # This script looks for lines without colours.
logs=$(mktemp -d)
declare -A running=() # The names of running jobs, by process id.
jobs=0                # The number of jobs that have ended.
failed=()             # The names of those that have failed.

# The traps call it.
# shellcheck disable=SC2317
end() {
    trap - EXIT INT TERM
    # Servers end with the process that started them.
    [ "${#running[@]}" -eq 0 ] || kill "${!running[@]}" 2>/dev/null
    rm -rf "$logs"
}
trap end EXIT
trap 'end; exit 130' INT TERM

# Becomes the process of the tests, so that a signal reaches it; therefore callers are subshells. $1: the name of the job, for the events; the rest is
# --filter and --skip.
run_tests() {
    local name=$1
    shift
    exec "$bundle" --testing-library swift-testing --no-parallel --event-stream-version 6.3 --event-stream-output-path "$logs/$name.events" "$@" 2>&1
}

# Prints the last words of the test runner in a log.
closing() { grep -aE '^.{1,4}Test run with [0-9]+ tests?' "$1" | tail -n 1; }

# Prints the lines about failures that a reader looks for.
print_failures() {
    printf '\nFailures:\n'
    local log
    for log in "$logs"/*.log; do
        grep -aE -A8 'recorded an issue|error:' "$log" | cut -c1-400 | head -n 200
        # The process ended in the middle of a test.
        [ -n "$(closing "$log")" ] || { printf '%s ended too early:\n' "$(basename "$log" .log)"; tail -n 20 "$log" | cut -c1-400; }
    done
}

tier=short
case "${1:-}" in
    '') ;;
    long) tier=long; shift ;;
    *) tier= ;;
esac

# One process, whose output is shown while it runs.
if [ -z "$tier" ]; then
    if [ "$1" = unit ]; then
        shift
        # Whole targets, and suites of targets that have other tests, too.
        unit='(BenchTests|ModelTests|WireTests|NetKitTests|RPCTests|ServiceKitTests|GatewayTests|SimulationTests|StrataKitTests)\.'
        unit+='|PostgresTests\.(PoolStateMachine|ResponseWait|RowDecoding|FunctionSet|EncodedParameters|LockKey|Timestamp|PostgresError|Configuration|MigrationPlan)Tests/'
        unit+='|RedisTests\.(ClusterMachine|ClusterSubscription|ConnectionMachine|ReplyParser|SubscriptionStateMachine|Value|Configuration)Tests/'
        unit+='|ConversationsTests\.(ConversationsSettings|Publisher|Nonce)Tests/|MetadataTests\.(MetadataJSON|MetadataSettings)Tests/'
        unit+='|PresenceTests\.(SweepLoop|SweepSchedule)Tests/|FaultTests\.(Checker|Mirror|KitJudge)Tests/'
        unit+='|StrataTests\.(ServiceLine|App|ChatScript|DevSettings|ServicePlan|TLSCertificate'
        unit+='|Home|Password|ChildProcess|LoopbackPort|SupervisionStateMachine|Supervisor|IdentityToken|TrustOption|Tour|WrongInput)Tests/'
        export STRATA_TEST_TIER=${STRATA_TEST_TIER:-short}
        set -- --filter "^($unit)" "$@"
    fi
    run_tests tests "$@" | tee "$logs/tests.log"
    status=${PIPESTATUS[0]}
    [ "$(grep -acE '^(✔|✘) Test ' "$logs/tests.log")" -le 200 ] || scripts/test_times.py "$logs"
    if [ "$status" -eq 69 ]; then echo "No test matches: $*" >&2; elif [ "$status" -ne 0 ]; then print_failures; fi
    closing "$logs/tests.log"
    exit "$status"
fi

export STRATA_TEST_TIER=${STRATA_TEST_TIER:-$tier}
places=${STRATA_TEST_PROCESSES:-2}
begin=$SECONDS
passed=0

# Starts a job: a process with some of the tests. $1: its name; the rest chooses its tests.
start() {
    local name=$1
    shift
    # A shell of its own ends in good order even if a signal ends the tests, as bash needs it for `wait -n`.
    (
        trap 'kill "$!"' TERM
        run_tests "$name" "$@" >"$logs/$name.log" &
        wait "$!"
    ) &
    running[$!]=$name
    echo "$name: started"
}

# Waits until a job has ended, and prints its result.
finish_one() {
    local id status line
    wait -n -p id "${!running[@]}"
    status=$?
    local name=${running[$id]}
    unset "running[$id]"
    jobs=$((jobs + 1))
    grep -aE '^✘' "$logs/$name.log" | cut -c1-400
    line=$(closing "$logs/$name.log")
    echo "$name: ${line:-it ended with status $status}"
    passed=$((passed + $(grep -acE '^✔ Test .* passed after' "$logs/$name.log") - 1))
    if [ "$status" -ne 0 ] || [ -z "$line" ]; then failed+=("$name"); fi
}

# Starts a job when there is room. $1: the most jobs that may run with it; the rest as for start.
take_turn() {
    local places=$1
    shift
    while [ "${#running[@]}" -ge "$places" ]; do finish_one; done
    start "$@"
}

# Suites of EndToEndTests that take as long as the other ones of it together.
suites='(AppDeletion|AppMove|Authorization|Chat|ContentMessage|Demo|LargeAnswer|LargeReplay)Tests'
# Suites of EndToEndTests that measure bounds and times, which a busy machine disturbs.
alone='(AnswerLimit|ByteLimit|Clock|ConnectionLimit|Fuzz|SlowReader|SocketLimit)Tests'
own='ConformanceTests|EndToEndTests|FaultTests'
# The longest first.
take_turn "$places" EndToEndTests-1 --filter "^EndToEndTests\..*/$suites/"
take_turn "$places" EndToEndTests-2 --filter '^EndToEndTests\.' --skip "^EndToEndTests\..*/($suites|$alone)/"
take_turn "$places" ConformanceTests --filter '^ConformanceTests\.'
for target in ConversationsTests StrataKitTests PostgresTests WebhooksTests StrataTests GatewayTests SimulationTests PresenceTests RPCTests MetadataTests RedisTests; do
    own+="|$target"
    take_turn "$places" "$target" --filter "^$target\."
done
# Targets that have no job above.
take_turn "$places" others --skip "^($own)\."
take_turn 1 EndToEndTests-3 --filter "^EndToEndTests\..*/$alone/"
take_turn 1 FaultTests --filter '^FaultTests\.'
while [ "${#running[@]}" -gt 0 ]; do finish_one; done

if [ "$STRATA_TEST_TIER" = short ]; then scripts/test_times.py "$logs" "$most_seconds"; else scripts/test_times.py "$logs"; fi
[ "${#failed[@]}" -eq 0 ]
status=$?
[ "$status" -eq 0 ] || print_failures
echo
if [ "$status" -eq 0 ]; then
    echo "✔ Test run with $passed tests in $jobs processes passed after $((SECONDS - begin)) seconds."
else
    echo "✘ Test run failed after $((SECONDS - begin)) seconds, in: ${failed[*]}."
fi
exit "$status"
