// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Metrics
import Testing

@testable import ServiceKit

struct PrometheusTests {
    let registry = PrometheusRegistry()

    @Test("counters, gauges and meters are written sorted, with types and labels")
    func simple() {
        Counter(label: "calls_total", dimensions: [("outcome", "ok"), ("method", "1")], factory: registry)
            .increment(by: 3)
        Counter(label: "calls", dimensions: [("method", "1"), ("outcome", "ok")], factory: registry).increment()
        Counter(label: "calls", dimensions: [], factory: registry).increment()
        FloatingPointCounter(label: "seconds_spent", factory: registry).increment(by: 0.5)
        Gauge(label: "in.flight", factory: registry).record(7)
        let meter = Meter(label: "level", factory: registry)
        meter.set(2.5)
        meter.decrement(by: 1)
        #expect(
            registry.text() == """
                # TYPE calls_total counter
                calls_total 1
                calls_total{method="1",outcome="ok"} 4
                # TYPE in_flight gauge
                in_flight 7
                # TYPE level gauge
                level 1.5
                # TYPE seconds_spent_total counter
                seconds_spent_total 0.5

                """)
    }

    @Test("timers are histograms in seconds, cumulative, with sum and count")
    func timer() {
        let timer = Timer(label: "call_duration", dimensions: [("method", "1")], factory: registry)
        timer.recordNanoseconds(100_000)
        timer.recordNanoseconds(100_001)
        timer.recordNanoseconds(2_000_000_000)
        timer.recordNanoseconds(60_000_000_000)
        let lines = registry.text().split(separator: "\n")
        #expect(lines.first == "# TYPE call_duration_seconds histogram")
        #expect(lines.contains(#"call_duration_seconds_bucket{method="1",le="0.0001"} 1"#))
        #expect(lines.contains(#"call_duration_seconds_bucket{method="1",le="0.00025"} 2"#))
        #expect(lines.contains(#"call_duration_seconds_bucket{method="1",le="1"} 2"#))
        #expect(lines.contains(#"call_duration_seconds_bucket{method="1",le="2.5"} 3"#))
        #expect(lines.contains(#"call_duration_seconds_bucket{method="1",le="10"} 3"#))
        #expect(lines.contains(#"call_duration_seconds_bucket{method="1",le="+Inf"} 4"#))
        #expect(lines.contains(#"call_duration_seconds_count{method="1"} 4"#))
        #expect(lines.contains { $0.hasPrefix(#"call_duration_seconds_sum{method="1"} 62.0002"#) })
        #expect(lines.count == 1 + PrometheusHistogram.durations.count + 3)
    }

    @Test("aggregating recorders are histograms of sizes")
    func recorder() {
        let recorder = Recorder(label: "batch", factory: registry)
        for size in [1, 4, 5, 1_000_000_000] { recorder.record(size) }
        let lines = registry.text().split(separator: "\n")
        #expect(lines.contains(#"batch_bucket{le="1"} 1"#))
        #expect(lines.contains(#"batch_bucket{le="4"} 2"#))
        #expect(lines.contains(#"batch_bucket{le="16"} 3"#))
        #expect(lines.contains(#"batch_bucket{le="67108864"} 3"#))
        #expect(lines.contains(#"batch_bucket{le="+Inf"} 4"#))
        #expect(lines.contains("batch_sum 1000000010"))
    }

    @Test(
        "metric names are converted to valid ones",
        arguments: [("a.b-c d", "a_b_c_d"), ("9lives", "_9lives"), ("ns:name", "ns:name"), ("é", "_"), ("", "_")])
    func names(_ label: String, _ name: String) {
        #expect(PrometheusName.metric(label) == name)
    }

    @Test("label names are converted to valid ones, and values are escaped")
    func labels() {
        #expect(PrometheusName.labels([("b.c", "x"), ("a", "q\" b\\ n\n ☃")]) == #"a="q\" b\\ n\n ☃",b_c="x""#)
        #expect(
            PrometheusName.labels([("__name__", "x"), ("le", "1"), ("a:b", "2")]) == #"a_b="2",le_="1",x__name__="x""#)
        #expect(PrometheusName.labels([("a", "1"), ("a", "2")]) == #"a="2""#)
    }

    @Test("one name of two kinds is written as two metrics")
    func kinds() {
        Gauge(label: "thing_total", factory: registry).record(1)
        Counter(label: "thing", factory: registry).increment()
        FloatingPointCounter(label: "f", factory: registry).increment()
        Counter(label: "f", factory: registry).increment()
        let text = registry.text()
        #expect(text.contains("# TYPE thing_total gauge\nthing_total 1\n"))
        #expect(text.contains("# TYPE thing_total_counter counter\nthing_total_counter 1\n"))
        #expect(text.contains("f_total 1\n"))
        #expect(text.contains("f_total_counter 1\n"))
    }

    @Test("the number of label values is limited")
    func cardinality() {
        let registry = PrometheusRegistry(maxSeries: 2)
        for user in 0..<10 { Counter(label: "c", dimensions: [("user", "\(user)")], factory: registry).increment() }
        #expect(
            registry.text() == """
                # TYPE c_total counter
                c_total{overflow="true"} 8
                c_total{user="0"} 1
                c_total{user="1"} 1

                """)
    }

    @Test("a destroyed metric is removed")
    func destroy() {
        let counter = registry.makeCounter(label: "c", dimensions: [])
        counter.increment(by: 1)
        #expect(!registry.text().isEmpty)
        registry.destroyCounter(counter)
        #expect(registry.text().isEmpty)
    }

    @Test("numbers are written in the Prometheus format")
    func numbers() {
        #expect(
            [1, -2.5, .infinity, -.infinity, .nan, 1e300].map(\.prometheus) == [
                "1", "-2.5", "+Inf", "-Inf", "NaN", "1e+300",
            ])
    }

    @Test("concurrent threads lose no counts")
    func concurrent() async {
        let counter = Counter(label: "c", factory: registry)
        let meter = Meter(label: "m", factory: registry)
        let timer = Timer(label: "t", factory: registry)
        await withDiscardingTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1000 {
                        counter.increment()
                        meter.increment()
                        timer.recordNanoseconds(1_000_000_000)
                    }
                }
            }
        }
        let text = registry.text()
        #expect(text.contains("c_total 8000\n"))
        #expect(text.contains("m 8000\n"))
        #expect(text.contains("t_seconds_sum 8000\n"))
        #expect(text.contains("t_seconds_count 8000\n"))
    }

    @Test("the registry has the process's own metrics")
    func process() {
        let text = ProcessMetrics.text()
        for name in [
            "process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds", "process_max_fds",
            "process_threads",
            "process_start_time_seconds",
        ] {
            let value = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
                .flatMap { Double($0.dropFirst(name.count + 1)) }
            #expect((value ?? 0) > 0, "\(name)")
        }
    }
}
