#!/usr/bin/env bash
# Format and licence headers. Generated code (*.pb.swift, ProtocolDocs+Files.swift) is as its generator made it.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -d '' files < <(find Shared Services Tests docs -name '*.swift' ! -name '*.pb.swift' ! -name 'ProtocolDocs+Files.swift' -print0 | sort -z)
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
