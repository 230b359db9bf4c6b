// SPDX-License-Identifier: Apache-2.0

import Testing

/// Real executables, real sockets, real PostgreSQL and Redis. One test after the other: each uses all the processes, and there are few processors.
@Suite("end to end", .serialized)
enum EndToEnd {}
