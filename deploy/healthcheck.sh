#!/bin/bash
# Whether the service in this container is ready. A shell, since it is asked every two seconds and a program of its own would cost more than the answer.
exec 3<>"/dev/tcp/127.0.0.1/${STRATA_ADMIN_PORT:-7401}" || exit 1
printf 'GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
read -r _ status _ <&3
[ "$status" = 200 ]
