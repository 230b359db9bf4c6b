// SPDX-License-Identifier: Apache-2.0

public import Testing

/// Polls a condition that no event announces, until it is true. Records an issue if it is still false after 60 s.
///
/// - Parameter what: The text of the issue, composed at the timeout.
/// - Returns: True if the condition became true.
@discardableResult
public func eventually(
    _ what: @autoclosure () -> Comment = "the condition did not become true",
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
) async throws -> Bool {
    let deadline = ContinuousClock.now + .seconds(60)
    var pause = Duration.milliseconds(2)
    while try await !condition() {
        guard .now < deadline else {
            Issue.record(what(), sourceLocation: sourceLocation)
            return false
        }
        try await Task.sleep(for: pause)
        pause = min(pause * 2, .milliseconds(20))
    }
    return true
}
