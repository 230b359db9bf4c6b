#!/usr/bin/env bash
# Runs tests that are built. At the end, where they are easy to find, it names the failed tests and, of many, the slowest ones.
# test.sh [unit | further words for swift test]
#
# `unit` runs the tests that need no servers.
# With STRATA_TEST_PROCESSES of 2 or more, and without further words, it runs all tests in several processes, so many at the same time. Most tests wait
# much more than they compute. Each process starts servers of its own, and runs its tests one after the other. The tests that a busy machine would
# disturb come last, alone.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

logs=$(mktemp -d)
declare -A running=() # The names of the processes that run, by their ids.

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

have_many() { [ "$(cat "$logs"/*.log | grep -acE '^✔ Test "?.*passed after')" -gt 200 ]; }

# The runner's own last words in a log.
closing() { grep -aE '^.{1,4}Test run with [0-9]+ tests?' "$1" | tail -n 1; }

# Prints what of all the output a reader looks for. $1: 0 if all passed.
summarize() {
    if have_many; then
        printf '\nThe slowest tests, in seconds:\n'
        cat "$logs"/*.log | grep -aE '^✔ Test "?.*passed after' | grep -av '^✔ Test run' \
            | sed -E 's/^✔ Test (.*) passed after ([0-9.]+) seconds\.$/\2  \1/' | sort -rn | head -n 20 | cut -c1-150
    fi
    [ "$1" -eq 0 ] && return
    printf '\nWhat failed:\n'
    local log
    for log in "$logs"/*.log; do
        grep -aE -A8 'recorded an issue|error:' "$log" | cut -c1-400 | head -n 200
        # A process that ended in the middle of a test.
        [ -n "$(closing "$log")" ] || { printf '%s did not end as it should:\n' "$(basename "$log" .log)"; tail -n 20 "$log" | cut -c1-400; }
    done
}

if [ "${1:-}" = unit ]; then
    shift
    # Whole targets, and suites of those that have other tests, too.
    unit='(ModelTests|WireTests|NetKitTests|RPCTests|ServiceKitTests|GatewayTests|SimulationTests|StrataKitTests)\.'
    unit+='|PostgresTests\.(PoolStateMachine|Flight|ColumnSet|FunctionSet|EncodedParameters|LockKey|Timestamp|PostgresError|Configuration|MigrationPlan)Tests/'
    unit+='|RedisTests\.(ClusterMachine|ClusterSubscription|ConnectionMachine|ReplyParser|SubscriptionStateMachine|Value|Configuration)Tests/'
    unit+='|ConversationsTests\.(ConversationsSettings|Publisher|Nonce)Tests/|MetadataTests\.(MetadataJSON|MetadataSettings)Tests/'
    unit+='|PresenceTests\.(SweepLoop|SweepSchedule)Tests/|FaultTests\.(Checker|Mirror|KitJudge)Tests/'
    unit+='|StrataTests\.(ServiceLine|App|ChatLine|ChatScreen|ChatState|FrameWriter|KeyReader|TerminalText|DevSettings|ServicePlan|TLSCertificate'
    unit+='|Home|Password|ChildProcess|LoopbackPort|SupervisionStateMachine|Supervisor|IdentityToken|TrustOption|Tour|WrongInput)Tests/'
    # Fewer seeds than in the whole run, so that all of it takes less than a minute.
    export STRATA_SIMULATION_SEEDS=${STRATA_SIMULATION_SEEDS:-2}
    set -- --filter "^($unit)" "$@"
fi

places=${STRATA_TEST_PROCESSES:-1}
if [ "$places" -le 1 ] || { [ "$*" != "" ] && [ "$*" != --ignore-lock ]; }; then
    swift test --skip-build --disable-xctest --no-parallel "$@" 2>&1 | tee "$logs/tests.log"
    status=${PIPESTATUS[0]}
    summarize "$status"
    if [ "$status" -ne 0 ] || have_many; then closing "$logs/tests.log"; fi
    exit "$status"
fi

# Suites of EndToEndTests that take as long as the other ones of it together.
suites='(AnswerLimit|AppDeletion|Authorization|Chat|Clock|ConnectionLimit|ContentMessage|Demo|LargeAnswer|LargeReplay)Tests'
began=$SECONDS
passed=0
failed=()

# One process. $1: its name; the rest chooses its tests.
start() {
    local name=$1
    shift
    # The shell around it ends in good order even if a signal ends the tests, as bash needs it for `wait -n`.
    (
        trap 'kill "$!"' TERM
        .build/debug/strataPackageTests.xctest --testing-library swift-testing --no-parallel "$@" >"$logs/$name.log" 2>&1 &
        wait "$!"
    ) &
    running[$!]=$name
    echo "$name: started"
}

# Waits until one of them has ended, and says how.
finish_one() {
    local id status line
    wait -n -p id "${!running[@]}"
    status=$?
    local name=${running[$id]}
    unset "running[$id]"
    grep -aE '^(✔|✘) Suite|^✘' "$logs/$name.log" | cut -c1-400
    line=$(closing "$logs/$name.log")
    echo "$name: ${line:-it ended with status $status}"
    if [ "$status" -eq 0 ] && [ -n "$line" ]; then
        passed=$((passed + $(sed -E 's/.*run with ([0-9]+) test.*/\1/' <<<"$line")))
    else
        failed+=("$name")
    fi
}

# Starts one as soon as there is room. $1: how many may run at the same time; then as for start.
take_turn() {
    local places=$1
    shift
    while [ "${#running[@]}" -ge "$places" ]; do finish_one; done
    start "$@"
}

# What takes longest first. The last of them takes every test that no other line names.
take_turn "$places" end-to-end-1 --filter "^EndToEndTests\..*/$suites/"
take_turn "$places" end-to-end-2 --filter '^EndToEndTests\.' --skip "^EndToEndTests\..*/$suites/"
take_turn "$places" conformance --filter '^ConformanceTests\.'
take_turn "$places" others --skip '^(ConformanceTests|EndToEndTests|FaultTests)\.'
take_turn 1 faults --filter '^FaultTests\.'
while [ "${#running[@]}" -gt 0 ]; do finish_one; done

[ "${#failed[@]}" -eq 0 ]
status=$?
summarize "$status"
echo
for log in "$logs"/*.log; do echo "$(basename "$log" .log): $(closing "$log")"; done
if [ "$status" -eq 0 ]; then
    echo "✔ Test run with $passed tests in 5 processes passed after $((SECONDS - began)) seconds."
else
    echo "✘ Test run failed after $((SECONDS - began)) seconds, in: ${failed[*]}."
fi
exit "$status"
