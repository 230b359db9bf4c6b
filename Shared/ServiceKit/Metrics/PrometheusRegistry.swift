// SPDX-License-Identifier: Apache-2.0
public import CoreMetrics
import Synchronization

/// The registry of all metrics of the process, which renders them in the Prometheus text format 0.0.4.
///
/// Creating a metric takes a lock; updating it costs an atomic addition. Metrics with the same name, kind and labels
/// share one series. Counters get the suffix `_total`, timers `_seconds`. Timers and recorders are histograms.
public final class PrometheusRegistry: MetricsFactory {
    private struct Family {
        var type: String
        var series: [String: any PrometheusSeries] = [:]
    }

    /// The maximum number of label combinations under one name. More are a mistake; later ones share one series,
    /// `overflow="true"`.
    private let maxSeries: Int
    private let families = Mutex<[String: Family]>([:])

    /// Creates an empty registry.
    /// - Parameter maxSeries: The maximum number of label combinations under one name.
    public init(maxSeries: Int = 4096) {
        self.maxSeries = maxSeries
    }

    /// Returns all metrics, sorted by name.
    public func text() -> String {
        let families = families.withLock { $0 }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) where !family.series.isEmpty {
            text += "# TYPE \(name) \(family.type)\n"
            for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
                series.write(name: name, labels: labels, to: &text)
            }
        }
        return text
    }

    private func series<Series: PrometheusSeries>(
        _ label: String, suffix: String, type: String, dimensions: [(String, String)], make: () -> Series
    ) -> Series {
        var name = PrometheusName.metric(label)
        if !name.hasSuffix(suffix) { name += suffix }
        let labels = PrometheusName.labels(dimensions)
        return families.withLock { families in
            // One name cannot have two kinds of metric. The later one gets its kind as a suffix.
            if let known = families[name],
                known.type != type || known.series.values.contains(where: { !($0 is Series) })
            {
                name += "_" + type
            }
            var family = families[name] ?? Family(type: type)
            let key = family.series[labels] == nil && family.series.count >= maxSeries ? "overflow=\"true\"" : labels
            if let known = family.series[key] as? Series { return known }
            let new = make()
            family.series[key] = new
            families[name] = family
            return new
        }
    }

    private func remove(_ handler: AnyObject) {
        families.withLock { families in
            for (name, family) in families {
                for (labels, series) in family.series where series === handler { families[name]?.series[labels] = nil }
            }
        }
    }

    // MARK: MetricsFactory

    /// Creates a counter, named `…_total`.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, suffix: "_total", type: "counter", dimensions: dimensions) { PrometheusCounter() }
    }

    /// Creates a floating-point counter, named `…_total`.
    public func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(label, suffix: "_total", type: "counter", dimensions: dimensions) { PrometheusFloatCounter() }
    }

    /// Creates a gauge.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, suffix: "", type: "gauge", dimensions: dimensions) { PrometheusGauge() }
    }

    /// Creates a histogram of sizes, or a gauge if `aggregate` is false.
    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        guard aggregate else {
            return series(label, suffix: "", type: "gauge", dimensions: dimensions) { PrometheusGauge() }
        }
        return series(label, suffix: "", type: "histogram", dimensions: dimensions) {
            PrometheusHistogram(bounds: PrometheusHistogram.sizes)
        }
    }

    /// Creates a histogram of durations, named `…_seconds`.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, suffix: "_seconds", type: "histogram", dimensions: dimensions) {
            PrometheusHistogram(bounds: PrometheusHistogram.durations)
        }
    }

    /// Removes a metric.
    public func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    /// Removes a metric.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { remove(handler) }
    /// Removes a metric.
    public func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    /// Removes a metric.
    public func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    /// Removes a metric.
    public func destroyTimer(_ handler: any TimerHandler) { remove(handler) }
}

/// Functions that render names and labels as the Prometheus text format allows them.
enum PrometheusName {
    /// Returns the metric name: letters, digits, `_` and `:`, not beginning with a digit. Every other character becomes
    /// `_`.
    static func metric(_ label: String) -> String {
        sanitized(label, allowsColon: true)
    }

    /// Returns the label name: letters, digits and `_`. It does not begin with two underscores, which are reserved, and
    /// is not `le`, which histograms use.
    static func label(_ name: String) -> String {
        let clean = sanitized(name, allowsColon: false)
        if clean.hasPrefix("__") { return "x" + clean }
        return clean == "le" ? "le_" : clean
    }

    /// Returns `a="b",c="d"`, sorted by name. If two labels have the same name, the later one wins.
    static func labels(_ dimensions: [(String, String)]) -> String {
        var unique: [String: String] = [:]
        for (name, value) in dimensions { unique[label(name)] = value }
        return unique.sorted { $0.key < $1.key }.map { "\($0.key)=\"\(escaped($0.value))\"" }.joined(separator: ",")
    }

    private static func sanitized(_ text: String, allowsColon: Bool) -> String {
        var clean: [UInt8] = []
        for scalar in text.unicodeScalars {
            switch scalar {
            case "a"..."z", "A"..."Z", "_": clean.append(UInt8(ascii: scalar))
            case "0"..."9":
                if clean.isEmpty { clean.append(UInt8(ascii: "_")) }
                clean.append(UInt8(ascii: scalar))
            case ":" where allowsColon: clean.append(UInt8(ascii: ":"))
            default: clean.append(UInt8(ascii: "_"))
            }
        }
        return clean.isEmpty ? "_" : String(decoding: clean, as: UTF8.self)
    }

    private static func escaped(_ value: String) -> String {
        var text = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
