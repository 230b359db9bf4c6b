#!/usr/bin/env bash
# Format, licence headers, references (scripts/references.py), versions (scripts/check_version.py), names of metrics and
# log fields (scripts/check_names.py), the voice of comments (scripts/stats.py), NOTICE (scripts/licences.py), and the
# endpoints of services.proto (scripts/stubs.py), the minified client (scripts/javascript.py), the calls of the console
# (scripts/console_calls.py), the list of its files (scripts/console_web.py), and the tables of docs/scaling.md
# (scripts/scaling.py). Generated code (*.pb.swift) is as its
# generator made it.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -d '' files < <(find Shared Services Tools Clients Examples Tests docs -name '*.swift' ! -path '*/.build/*' ! -name '*.pb.swift' -print0 | sort -z)
swift format lint --strict --parallel Package.swift "${files[@]}"

bare=()
for file in "${files[@]}"; do
    IFS= read -r first <"$file" || true
    [ "$first" = "// SPDX-License-Identifier: Apache-2.0" ] || bare+=("$file")
done
if [ ${#bare[@]} -gt 0 ]; then
    printf '%s: the first line must be: // SPDX-License-Identifier: Apache-2.0\n' "${bare[@]}" >&2
    exit 1
fi
echo "lint: ${#files[@]} files, all in order"
scripts/references.py
scripts/check_version.py
scripts/check_names.py
scripts/stats.py --check
scripts/licences.py --check
scripts/stubs.py --check
scripts/javascript.py --check
scripts/scaling.py --check
scripts/console_calls.py --check
scripts/vendor_console.py --check
scripts/console_web.py --check
