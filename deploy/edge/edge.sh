#!/bin/bash
# Starts haproxy with the operator's certificate, or else with the one that was made for this deployment.
set -euo pipefail

if [ "${1:-}" = check ]; then
    exec 3<>/dev/tcp/127.0.0.1/8404
    printf 'GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
    read -r _ status _ <&3
    [ "$status" = 200 ]
    exit
fi

export STRATA_EDGE_PEM=/run/strata/tls/edge.pem
# Without STRATA_TLS_PEM this is /dev/null.
[ ! -s /etc/strata/operator.pem ] || STRATA_EDGE_PEM=/etc/strata/operator.pem
exec haproxy -W -db -f /etc/haproxy/haproxy.cfg
