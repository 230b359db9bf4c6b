// SPDX-License-Identifier: Apache-2.0
package import NIOCore

/// From where catch-ups begin, and how long what goes wrong with them may take.
package enum CatchUpTiming {
    /// How far before a new socket its client may have loaded the lists that it now wants to keep up to date (docs/architecture.md §6).
    package static let openingMargin = Duration.seconds(10)
    /// A client that is about to ask for a replay does so at once. One that has not asked for anything by then wants to be told what happens.
    package static let listenAfter = TimeAmount.seconds(2)
    /// A replay starts this much earlier than asked: clocks may differ, and a change is stamped before it is committed.
    package static let replayMargin = Duration.seconds(30)
    /// A client whose replay has failed has so long to ask again before it is told to come back. The longest pause of stock clients is 20 s; after eight
    /// tries they rest on the socket for ever, and nothing but its end makes them begin anew.
    package static let replayPatience = TimeAmount.seconds(30)
    /// A conversation that cannot be shown is looked at again after so long, and then twice as long each time, up to the longest.
    package static let firstLook = TimeAmount.seconds(5)
    package static let longestLook = TimeAmount.seconds(300)
    /// Milliseconds before a service that could not be asked is asked again.
    package static let servicePause: ClosedRange<Int64> = 500...1000
    /// The pause after reads that showed nothing where something is owed.
    package static let vainPause = TimeAmount.milliseconds(250)
    /// How fast a baseline is answered usually.
    static let promptBaseline = Duration.seconds(1)
    static let longestBaseline = Duration.seconds(10)
}
