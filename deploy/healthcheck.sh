#!/bin/bash
# Whether the service in this container is ready. A shell script, because it runs every two seconds and a separate program would cost more.
exec 3<>"/dev/tcp/127.0.0.1/${STRATA_ADMIN_PORT:-7401}" || exit 1
printf 'GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
read -r _ status _ <&3
[ "$status" = 200 ]
