// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Testing

@testable import Console

@Suite("the overview of the console")
struct OverviewTests {
    @Test("samples are read with their labels, and other lines are skipped")
    func samples() {
        let text = """
            # HELP strata_sockets Sockets.
            # TYPE strata_sockets gauge
            strata_sockets 3
            strata_calls_total{method="a",outcome="ok"} 4.5 1700000000000
            strata_calls_total{method="q\\"u\\\\o\\nte",} +Inf
            strata_calls_total{method="broken} 1
            strata_calls_total{method="a"}
            strata_sockets_other 9
            """
        let found = PrometheusText.samples(in: text, of: ["strata_sockets", "strata_calls_total"])
        #expect(found.map(\.value) == [3, 4.5, .infinity])
        #expect(found.map(\.labels) == [[:], ["method": "a", "outcome": "ok"], ["method": "q\"u\\o\nte"]])
    }

    @Test("metrics of a process are summed up; numbers without meaning count as none")
    func metrics() {
        let text = """
            process_start_time_seconds 1700000000.5
            strata_gateway_sockets 3
            strata_rpc_server_calls_total{method="sendMessage",outcome="ok"} 7
            strata_rpc_server_calls_total{method="sendMessage",outcome="overloaded"} 1
            strata_rpc_server_calls_total{method="heads",outcome="ok"} 1
            strata_gateway_request_duration_seconds_bucket{method="GET",status="200",le="0.1"} 2
            strata_gateway_request_duration_seconds_bucket{method="POST",status="201",le="0.1"} 3
            strata_gateway_request_duration_seconds_bucket{method="PUT",status="200",le="0.1"} 100
            strata_gateway_request_duration_seconds_bucket{method="GET",status="200",le="+Inf"} 4
            strata_webhooks_waiting_conversations NaN
            """
        let metrics = InstanceMetrics(PrometheusText.samples(in: text, of: InstanceMetrics.names))
        #expect(metrics.startedAt == 1_700_000_000.5)
        #expect((metrics.sockets, metrics.messages, metrics.webhooksWaiting) == (3, 7, 0))
        #expect(metrics.durations == [0.1: 5, .infinity: 4])
    }

    @Test("percentiles are interpolated within their bucket, and never exceed the greatest bound")
    func percentiles() {
        #expect(Percentile.of([0.1: 50, 0.2: 100, .infinity: 100], 0.5) == 0.1)
        #expect(Percentile.of([0.1: 50, 0.2: 100, .infinity: 100], 0.75) == 0.15000000000000002)
        #expect(Percentile.of([0.1: 0, 0.2: 0, .infinity: 10], 0.5) == 0.2)
        #expect(Percentile.of([0.1: 0, .infinity: 0], 0.5) == nil)
        #expect(Percentile.of([:], 0.5) == nil)
    }

    private func reading(
        _ address: String = "a", messages: Double, sockets: Double = 0, startedAt: Double = 1, failure: String? = nil
    ) -> InstanceReading {
        var reading = InstanceReading(kind: "gateway", address: address, failure: failure)
        reading.metrics.messages = messages
        reading.metrics.sockets = sockets
        reading.metrics.startedAt = startedAt
        reading.metrics.durations = [0.1: messages, .infinity: messages]
        return reading
    }

    private func time(_ seconds: Double) -> Date { Date(timeIntervalSince1970: 1_700_000_000 + seconds) }

    @Test("rates need two samples; a process that restarted, came or went does not distort them")
    func rates() {
        var history = SampleHistory()
        #expect(history.add([reading(messages: 100, sockets: 2)], at: time(0)).messagesPerSecond == nil)
        let second = history.add(
            [reading(messages: 150, sockets: 2), reading("b", messages: 1_000_000, sockets: 3)], at: time(5))
        #expect((second.messagesPerSecond, second.sockets) == (10, 5))
        #expect(second.p50Ms == 50)
        let restarted = history.add(
            [reading(messages: 20, startedAt: 2), reading("b", messages: 1_000_000)], at: time(10))
        #expect(restarted.messagesPerSecond == 4)
        let away = history.add([reading(messages: 0, failure: "away")], at: time(15))
        #expect((away.messagesPerSecond, away.p99Ms) == (0, nil))
        #expect(history.add([reading(messages: 30, startedAt: 2)], at: time(20)).messagesPerSecond == 2)
    }

    @Test("samples are kept for fifteen minutes")
    func forgetting() {
        var history = SampleHistory()
        for seconds in stride(from: 0.0, through: 1800, by: 5) {
            history.add([reading(messages: seconds)], at: time(seconds))
        }
        #expect(history.points.count == 181)
        #expect(history.points.first?.at == time(900))
    }

    @Test("findings are about processes that are away, not ready or restarted, since the first reading")
    func findings() {
        var findings = Findings()
        func update(_ reading: InstanceReading, _ seconds: Double) -> [Alert] {
            findings.update([reading], at: time(seconds))
        }
        func ready(_ status: String, startedAt: Double = 1) -> InstanceReading {
            var reading = reading(messages: 0, startedAt: startedAt)
            reading.health = .init(
                status: status, version: "1",
                checks: [
                    .init(name: "postgres", status: "passing", reason: nil, milliseconds: 1),
                    .init(
                        name: "redis", status: status == "ready" ? "passing" : "failing", reason: nil, milliseconds: 1),
                ])
            return reading
        }
        #expect(update(ready("ready"), 0) == [])
        #expect(update(ready("unavailable"), 5).map(\.summary) == ["gateway at a is not ready: redis."])
        let second = update(ready("unavailable"), 10)
        #expect(second.map(\.since) == [time(5)])
        #expect(update(ready("ready"), 15) == [])
        #expect(update(reading(messages: 0, failure: "it is away"), 20).map(\.name) == ["InstanceUnreachable"])
        let restarted = update(ready("ready", startedAt: 30), 25)
        #expect(restarted.map(\.name) == ["InstanceRestarted"])
        #expect(restarted.map(\.since) == [time(25)])
        #expect(update(ready("ready", startedAt: 30.5), 25 + Findings.restartPeriod) == [])
    }

    @Test("alerts of Prometheus are those that fire")
    func prometheus() {
        let json = """
            {"status":"success","data":{"alerts":[
                {"labels":{"alertname":"StrataRedisAway","severity":"page"},"annotations":{"summary":"Redis is away."},
                 "state":"firing","activeAt":"2026-01-02T03:04:05.123456789Z","value":"1e+00"},
                {"labels":{"alertname":"Other"},"annotations":{},"state":"pending"}]}}
            """
        let alerts = PrometheusAlerts.firing(in: Array(json.utf8))
        #expect(alerts?.map(\.name) == ["StrataRedisAway"])
        #expect(alerts?.first?.since.iso8601 == "2026-01-02T03:04:05.123Z")
        #expect(PrometheusAlerts.firing(in: Array("no".utf8)) == nil)
    }
}
