// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StrataCommand

@Suite("the supervision of a child")
struct SupervisionStateMachineTests {
    private let backOff = SupervisionStateMachine.BackOff(
        first: .milliseconds(100), longest: .milliseconds(350), resetAfter: .seconds(15))
    private let start = ContinuousClock.now

    @Test("the supervision waits longer each time a child dies early, up to a maximum")
    func grows() {
        var machine = SupervisionStateMachine(backOff: backOff)
        #expect(machine.begin() == .start)
        for pause in [100, 200, 350, 350] {
            #expect(machine.started(at: start) == .nothing)
            #expect(machine.processEnded(at: start.advanced(by: .seconds(14))) == .pause(.milliseconds(pause)))
            #expect(machine.pauseElapsed() == .start)
        }
        #expect(machine.restarts == 4)
    }

    @Test("the supervision resets the wait after a child that lived long enough")
    func forgives() {
        var machine = SupervisionStateMachine(backOff: backOff)
        #expect(machine.begin() == .start)
        _ = machine.started(at: start)
        #expect(machine.processEnded(at: start) == .pause(.milliseconds(100)))
        #expect(machine.pauseElapsed() == .start)
        _ = machine.started(at: start)
        #expect(machine.processEnded(at: start.advanced(by: .seconds(15))) == .pause(.milliseconds(100)))
    }

    @Test("the supervision counts a failed start like a death")
    func startFails() {
        var machine = SupervisionStateMachine(backOff: backOff)
        #expect(machine.begin() == .start)
        #expect(machine.startFailed() == .pause(.milliseconds(100)))
        #expect(machine.pauseElapsed() == .start)
        #expect(machine.startFailed() == .pause(.milliseconds(200)))
    }

    @Test("the supervision never restarts a stopped child, in any state")
    func stops() {
        var idle = SupervisionStateMachine(backOff: backOff)
        #expect(idle.stopRequested() == .finish)
        #expect(idle.begin() == .finish)

        var starting = SupervisionStateMachine(backOff: backOff)
        _ = starting.begin()
        #expect(starting.stopRequested() == .nothing)
        #expect(starting.started(at: start) == .stopChild)
        #expect(starting.processEnded(at: start) == .finish)

        var failing = SupervisionStateMachine(backOff: backOff)
        _ = failing.begin()
        _ = failing.stopRequested()
        #expect(failing.startFailed() == .finish)

        var running = SupervisionStateMachine(backOff: backOff)
        _ = running.begin()
        _ = running.started(at: start)
        #expect(running.stopRequested() == .stopChild)
        #expect(running.stopRequested() == .nothing)
        #expect(running.processEnded(at: start) == .finish)
        #expect(running.stopRequested() == .finish)

        var pausing = SupervisionStateMachine(backOff: backOff)
        _ = pausing.begin()
        _ = pausing.started(at: start)
        _ = pausing.processEnded(at: start)
        #expect(pausing.stopRequested() == .finish)
        #expect(pausing.pauseElapsed() == .finish)
    }
}
