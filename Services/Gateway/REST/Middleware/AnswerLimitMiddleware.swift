// SPDX-License-Identifier: Apache-2.0
import FanOut
import Hummingbird
import StrataModel

/// A middleware that limits the bytes held by answers and the number of long answers made concurrently.
struct AnswerLimitMiddleware: RESTMiddleware {
    let answers: AnswerBudget
    let longAnswers: LongAnswers
    let errors: ErrorObjects

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        // A client that changes something must learn the outcome, so only a GET can be refused.
        let lease = AnswerBudget.Lease(answers, isRefusable: request.method == .get)
        var context = context
        context.answer = lease
        context.longAnswers = longAnswers
        let turn: LongAnswers.Turn?
        do throws(Failure) {
            turn = request.method == .get ? try await context.turn(patience: LongAnswers.patience) : nil
        } catch {
            throw errors.failed(error, in: context)
        }
        defer {
            context.recordBytes(lease.takeAnswered())
            turn?.end()
        }
        return try await next(request, context)
    }
}
