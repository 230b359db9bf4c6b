// SPDX-License-Identifier: Apache-2.0
import FanOut
import Logging

/// The limits on clients of a gateway, for each client and for all together.
struct GatewayLimits: Sendable {
    let limiter: RateLimiter
    let clients: ClientConnections
    let input: InputBudget
    let answers: AnswerBudget
    let longAnswers: LongAnswers
    let opening = OpeningCalls()

    init(_ settings: GatewaySettings, logger: Logger) {
        limiter = RateLimiter(settings.load.rates)
        clients = ClientConnections(settings.load.connections, logger: logger)
        input = InputBudget(limit: settings.load.requestBytes)
        answers = AnswerBudget(limit: settings.load.answerBytes)
        longAnswers = LongAnswers(limit: settings.load.longAnswers)
    }
}

extension GatewayServices {
    var limiter: RateLimiter { limits.limiter }
    var clients: ClientConnections { limits.clients }
    var input: InputBudget { limits.input }
    var answers: AnswerBudget { limits.answers }
    var longAnswers: LongAnswers { limits.longAnswers }
    var opening: OpeningCalls { limits.opening }
}
