// SPDX-License-Identifier: Apache-2.0

import Testing

/// Tests with real executables, sockets, PostgreSQL and Redis. They run sequentially, because each uses all the
/// processes and there are few processors.
@Suite("end to end", .serialized)
enum EndToEnd {}
