// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A line plot as SVG, in light and dark.
struct LinePlot: Sendable {
    /// A line of the plot.
    struct Series: Sendable {
        var name: String
        /// The points, in the order of x.
        var points: [(x: Double, y: Double)]
    }

    var title: String
    var xLabel: String
    var yLabel: String
    /// True for a logarithmic x axis. All values of x are then greater than 0.
    var isLogarithmic = false
    var series: [Series]

    private static let width = 720.0
    private static let height = 400.0
    private static let margin = (left: 64.0, right: 160.0, top: 44.0, bottom: 52.0)
    /// Colours of lines for a light and a dark background. Further lines repeat them.
    private static let colours = [
        (light: "#0b62c4", dark: "#6cb0ff"), (light: "#c2410c", dark: "#ffa366"), (light: "#15803d", dark: "#6ee7a0"),
        (light: "#7e22ce", dark: "#d0a3ff"), (light: "#b91c1c", dark: "#ff8f8f"), (light: "#555555", dark: "#bbbbbb"),
    ]

    /// The text of the SVG file.
    var svg: String {
        let lines = series.enumerated().map { line($0.element, number: $0.offset) }
        let size = "width=\"\(Self.text(Self.width))\" height=\"\(Self.text(Self.height))\""
        let box = "viewBox=\"0 0 \(Self.text(Self.width)) \(Self.text(Self.height))\""
        return """
            <svg xmlns="http://www.w3.org/2000/svg" \(size) \(box) role="img">
            <title>\(Self.escaped(title))</title>
            <style>
            \(style)
            </style>
            <rect class="background" width="100%" height="100%"/>
            <text class="title" x="\(Self.text(Self.margin.left))" y="24">\(Self.escaped(title))</text>
            \((axes + lines).joined(separator: "\n"))
            </svg>

            """
    }

    private var style: String {
        let light = Self.colours.enumerated()
            .map { ".s\($0.offset) { stroke: \($0.element.light); fill: \($0.element.light) }" }
        let dark = Self.colours.enumerated()
            .map { ".s\($0.offset) { stroke: \($0.element.dark); fill: \($0.element.dark) }" }
        return """
            text { font: 12px system-ui, sans-serif; fill: #222222; stroke: none }
            .title { font-size: 15px; font-weight: 600 }
            .background { fill: #ffffff }
            .grid { stroke: #dddddd }
            polyline { fill: none; stroke-width: 2 }
            \(light.joined(separator: "\n"))
            @media (prefers-color-scheme: dark) {
            text { fill: #e6e6e6 }
            .background { fill: #161b22 }
            .grid { stroke: #30363d }
            \(dark.joined(separator: "\n"))
            }
            polyline.line { fill: none }
            """
    }

    // MARK: Axes

    private var axes: [String] {
        let bottom = Self.height - Self.margin.bottom
        let right = Self.width - Self.margin.right
        var parts: [String] = []
        for tick in Self.ticks(to: top) {
            let y = Self.text(place(y: tick))
            parts.append(
                "<line class=\"grid\" x1=\"\(Self.text(Self.margin.left))\" x2=\"\(Self.text(right))\" y1=\"\(y)\" y2=\"\(y)\"/>"
            )
            let label = Self.text(Self.margin.left - 8)
            parts.append("<text x=\"\(label)\" y=\"\(y)\" dy=\"4\" text-anchor=\"end\">\(Self.label(tick))</text>")
        }
        for value in xTicks {
            let x = Self.text(place(x: value))
            parts.append(
                "<text x=\"\(x)\" y=\"\(Self.text(bottom + 18))\" text-anchor=\"middle\">\(Self.label(value))</text>")
        }
        let middle = Self.text((Self.margin.left + right) / 2)
        parts.append(
            "<text x=\"\(middle)\" y=\"\(Self.text(Self.height - 12))\" text-anchor=\"middle\">\(Self.escaped(xLabel))</text>"
        )
        let side = Self.text((Self.margin.top + bottom) / 2)
        parts.append(
            "<text x=\"16\" y=\"\(side)\" text-anchor=\"middle\" transform=\"rotate(-90 16 \(side))\">\(Self.escaped(yLabel))</text>"
        )
        return parts
    }

    private func line(_ series: Series, number: Int) -> String {
        let colour = "s\(number % Self.colours.count)"
        let points = series.points.map { "\(Self.text(place(x: $0.x))),\(Self.text(place(y: $0.y)))" }
        var parts = ["<polyline class=\"line \(colour)\" points=\"\(points.joined(separator: " "))\"/>"]
        parts += series.points.map {
            let value = "\(Self.escaped(series.name)): \(Report.text($0.y))"
            return
                "<circle class=\"\(colour)\" cx=\"\(Self.text(place(x: $0.x)))\" cy=\"\(Self.text(place(y: $0.y)))\" r=\"3\">"
                + "<title>\(value)</title></circle>"
        }
        let x = Self.width - Self.margin.right + 16
        let y = Self.margin.top + 8 + Double(number) * 20
        parts.append(
            "<line class=\"\(colour)\" stroke-width=\"2\" x1=\"\(Self.text(x))\" x2=\"\(Self.text(x + 18))\" y1=\"\(Self.text(y))\" y2=\"\(Self.text(y))\"/>"
        )
        parts.append(
            "<text x=\"\(Self.text(x + 24))\" y=\"\(Self.text(y))\" dy=\"4\">\(Self.escaped(series.name))</text>")
        return parts.joined(separator: "\n")
    }

    // MARK: Scales

    private var xs: [Double] { series.flatMap { $0.points.map(\.x) } }
    /// The upper end of the y axis, which begins with 0.
    private var top: Double { Self.ticks(to: series.flatMap { $0.points.map(\.y) }.max() ?? 1).last ?? 1 }
    private var xTicks: [Double] { Set(xs).sorted() }

    private func scaled(_ x: Double) -> Double { isLogarithmic ? log10(max(x, .leastNonzeroMagnitude)) : x }

    private func place(x: Double) -> Double {
        let low = scaled(xs.min() ?? 0)
        let span = scaled(xs.max() ?? 1) - low
        let part = span > 0 ? (scaled(x) - low) / span : 0.5
        return Self.margin.left + part * (Self.width - Self.margin.left - Self.margin.right)
    }

    private func place(y: Double) -> Double {
        Self.height - Self.margin.bottom - y / top * (Self.height - Self.margin.top - Self.margin.bottom)
    }

    /// Returns round numbers from 0 to at least `highest`, four to six of them.
    static func ticks(to highest: Double) -> [Double] {
        guard highest > 0, highest.isFinite else { return [0, 1] }
        let power = pow(10, (log10(highest / 4)).rounded(.down))
        let step = ([1, 2, 2.5, 5, 10].first { $0 * power * 5 >= highest } ?? 10) * power
        let count = Int((highest / step).rounded(.up))
        return (0...max(1, count)).map { Double($0) * step }
    }

    private static func label(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15
            ? (value < 100 ? "\(Int(value))" : Report.text(value)) : text(value)
    }

    /// Returns a coordinate with at most two digits after the point.
    private static func text(_ value: Double) -> String {
        let rounded = (value * 100).rounded() / 100
        return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}
